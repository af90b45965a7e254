#!/usr/bin/env bash
# Runs mcp-preflight for action.yml: a report for people, annotations and the summary by themselves, and the JSON report beside them.
#   BINARY   the program
#   ARGS     further arguments, one a line
# Writes exit-code=N and report=PATH into $GITHUB_OUTPUT, and ends as the program does.
set -uo pipefail

: "${BINARY:?}" "${GITHUB_OUTPUT:?}"
report=${RUNNER_TEMP:-$(mktemp -d)}/mcp-preflight.json
rm -f "$report"
arguments=()
while IFS= read -r line; do
  # Blanks at either end, empty lines and comments are for people.
  line=${line#"${line%%[![:space:]]*}"}
  line=${line%"${line##*[![:space:]]}"}
  case "$line" in "" | "#"*) ;; *) arguments+=("$line") ;; esac
done <<<"${ARGS:-}"

# An empty array is unset to the bash of macOS.
"$BINARY" ${arguments[@]+"${arguments[@]}"} --format "json=$report"
code=$?
echo "exit-code=$code" >>"$GITHUB_OUTPUT"
if [ -f "$report" ]; then echo "report=$report" >>"$GITHUB_OUTPUT"; fi
exit "$code"
