#!/usr/bin/env bash
# Installs mcp-preflight for action.yml, and writes binary=PATH into $GITHUB_OUTPUT.
#   VERSION      a release's tag, or "source"
#   REPOSITORY   OWNER/NAME the release is from
#   TOKEN        for the download; may be empty
#   SERVER       where releases are; default https://github.com
# A binary whose checksum is not the one that was released is never run.
set -euo pipefail

die() { echo "::error title=MCP preflight::$1"; exit 70; }

: "${VERSION:?}" "${GITHUB_ACTION_PATH:?}"
folder=${RUNNER_TEMP:-$(mktemp -d)}/mcp-preflight
system=$(uname -s) exe='' archive=tar.gz
if [ "${RUNNER_OS:-}" = Windows ]; then
  system=Windows exe=.exe archive=zip
  # Its paths have a drive and backslashes, which tar and sha256sum take for something else.
  if command -v cygpath >/dev/null; then folder=$(cygpath --unix "$folder"); fi
fi
mkdir -p "$folder"

if [ "$VERSION" = source ]; then
  command -v cargo >/dev/null || die "version: source needs cargo on the runner"
  cargo install --locked --quiet --path "$GITHUB_ACTION_PATH" --root "$folder"
  echo "binary=$folder/bin/mcp-preflight$exe" >>"$GITHUB_OUTPUT"
  exit 0
fi

[[ "$VERSION" =~ ^v[0-9]+\.[0-9]+\.[0-9]+([-.][0-9A-Za-z.]+)?$ ]] || die "version: expected a tag such as v0.1.0, or source"
[[ "${REPOSITORY:-}" =~ ^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$ ]] || die "the repository of the release is not known"

case "$system-$(uname -m)" in
  Linux-x86_64) target=x86_64-unknown-linux-musl ;;
  Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-musl ;;
  Darwin-x86_64) target=x86_64-apple-darwin ;;
  Darwin-arm64) target=aarch64-apple-darwin ;;
  Windows-x86_64) target=x86_64-pc-windows-msvc ;;
  *) die "no release for $system on $(uname -m); use version: source" ;;
esac

name=mcp-preflight-$VERSION-$target.$archive
address=${SERVER:-https://github.com}/$REPOSITORY/releases/download/$VERSION
fetch() {
  local header=()
  [ -z "${TOKEN:-}" ] || header=(--header "Authorization: Bearer $TOKEN")
  curl --fail --silent --show-error --location --retry 3 --max-time 120 ${header[@]+"${header[@]}"} --output "$2" "$1" ||
    die "cannot download $1"
}
fetch "$address/$name" "$folder/$name"
fetch "$address/SHA256SUMS" "$folder/SHA256SUMS"

expected=$(awk -v name="$name" '$2 == name || $2 == "*" name { print $1 }' "$folder/SHA256SUMS")
[ -n "$expected" ] || die "SHA256SUMS of $VERSION does not name $name"
if command -v sha256sum >/dev/null; then actual=$(sha256sum "$folder/$name"); else actual=$(shasum -a 256 "$folder/$name"); fi
[ "${actual%% *}" = "$expected" ] || { rm -f "$folder/$name"; die "the checksum of $name is not the released one"; }

if [ "$archive" = zip ]; then unzip -q -o "$folder/$name" -d "$folder"; else tar -xzf "$folder/$name" -C "$folder"; fi
binary=$folder/mcp-preflight$exe
[ -x "$binary" ] || die "$name holds no mcp-preflight"
echo "binary=$binary" >>"$GITHUB_OUTPUT"
