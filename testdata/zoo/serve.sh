#!/usr/bin/env bash
# The servers of the zoo that speak Streamable HTTP, on free ports of 127.0.0.1.
#   testdata/zoo/serve.sh DIR start    then `set -a; . DIR/ports.env`: EVERYTHING_PORT, JS2_PORT, RMCP_PORT
#   testdata/zoo/serve.sh DIR stop     ends exactly the process groups that `start` has made
# DIR is what setup.sh has filled. A set JS2_KEY is handed on to the js2 server.
set -euo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
ZOO=$(cd "${1:?usage: serve.sh DIR start|stop}" && pwd)
PYTHON=$(command -v python3.11 || command -v python3)
mkdir -p "$ZOO/run" "$ZOO/logs"

# A process is known by its id and its start time: an id alone may be somebody else's by now. Nothing for one that has ended.
started_at() {
  local state
  state=$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) || return 0
  case $state in [ZX]*) ;; *) cut -d' ' -f20 <<<"$state" ;; esac
}

# The processes of the last start, leaders of their groups, as far as they still run.
leaders() {
  local file pid start
  for file in "$ZOO"/run/*.pid; do
    [ -f "$file" ] || continue
    read -r pid start <"$file"
    if [ -n "$start" ] && [ "$(started_at "$pid")" = "$start" ]; then echo "$pid"; fi
  done
}

stop() {
  local pid try
  # The process alone as well: right after its start it may not have its group yet.
  for pid in $(leaders); do kill -TERM -- "-$pid" 2>/dev/null || kill -TERM "$pid" 2>/dev/null || true; done
  for try in {1..50}; do
    [ -n "$(leaders)" ] || break
    sleep 0.1
  done
  for pid in $(leaders); do kill -KILL -- "-$pid" 2>/dev/null || true; done
  rm -f "$ZOO"/run/*.pid "$ZOO/ports.env"
}

# up NAME PORT COMMAND...: in a group of its own, and with no environment but this: server-everything shows its own to anybody.
up() {
  local name=$1 port=$2
  shift 2
  env -i PATH="$PATH" HOME="$ZOO/home" PORT="$port" ${JS2_KEY:+JS2_KEY="$JS2_KEY"} \
    setsid -- "$@" </dev/null >"$ZOO/logs/serve-$name.log" 2>&1 &
  echo "$! $(started_at $!)" >"$ZOO/run/$name.pid"
}

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

start() {
  local ports name try
  if [ -n "$(leaders)" ]; then
    echo "zoo: these servers run already: serve.sh $ZOO stop" >&2
    exit 1
  fi
  rm -f "$ZOO"/run/*.pid "$ZOO/ports.env"
  trap stop EXIT
  read -r -a ports < <("$PYTHON" -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
print(*(s.getsockname()[1] for s in sockets))')
  up everything "${ports[0]}" node --import "$HERE/loopback.mjs" \
    "$ZOO/npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js" streamableHttp
  up js2 "${ports[1]}" node "$ZOO/js2/server.mjs"
  up rmcp "${ports[2]}" "$ZOO/bin/zoo-rmcp-server"
  for try in {1..300}; do
    if [ "$(leaders | wc -l)" -ne 3 ]; then break; fi
    if listens "${ports[0]}" && listens "${ports[1]}" && listens "${ports[2]}"; then
      printf 'EVERYTHING_PORT=%s\nJS2_PORT=%s\nRMCP_PORT=%s\n' "${ports[@]}" >"$ZOO/ports.env"
      trap - EXIT
      echo "zoo: everything, js2 and rmcp listen on ${ports[*]}"
      return
    fi
    sleep 0.1
  done
  echo "zoo: a server did not come up in time, or has ended:" >&2
  for name in everything js2 rmcp; do tail -n 5 "$ZOO/logs/serve-$name.log" >&2; done
  exit 1
}

case "${2:-}" in
  start) start ;;
  stop) stop ;;
  *) echo "usage: serve.sh DIR start|stop" >&2; exit 2 ;;
esac
