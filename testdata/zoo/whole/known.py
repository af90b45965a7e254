"""What is known of these servers: the cause that must be named where nothing can be listed, and why another client may differ."""


def fails(failure, step, says, why):
    """`says`: what the message or the standard error in the report must have in it. `why`: the truth, for the document."""
    return {"class": failure, "step": step, "says": says, "why": why}


# In mcp.json, mcp-broken.json and mcp-http.json.
FAILS = {
}

# Without the credential or the flag, in mcp-nocred.json.
BARE_FAILS = {
}

# (client, entry): why this client sees something else than mcp-preflight.
DIFFERENCES = {
}


def difference(client, config, name):
    return next((why for (who, where, what), why in DIFFERENCES.items() if who in client and where in (config, "*") and what in (name, "*")), None)
