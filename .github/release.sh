#!/usr/bin/env bash
# Builds one release archive into dist/: mcp-preflight-TAG-TARGET.tar.gz (.zip for Windows) with the binary, its completions, its manual page and
# the licences.
#   .github/release.sh TARGET TAG
#   RUN_WITH     what runs a binary of TARGET here, where the system cannot: wine, qemu-aarch64
set -euo pipefail
cd "$(dirname "$0")/.."

target=${1:?usage: release.sh TARGET TAG} tag=${2:?usage: release.sh TARGET TAG}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
[ "$tag" = "v$version" ] || { echo "the tag $tag is not the version $version of Cargo.toml" >&2; exit 1; }

grep -q "default: $tag\$" action.yml || { echo "action.yml installs another version than $tag by default" >&2; exit 1; }

if command -v rustup >/dev/null; then rustup target add "$target"; fi
cargo build --release --locked --target "$target" --bin mcp-preflight
case "$target" in *-windows-*) exe=.exe archive=zip ;; *) exe='' archive=tar.gz ;; esac
built=${CARGO_TARGET_DIR:-target}/$target/release/mcp-preflight$exe
run() { ${RUN_WITH:-} "$built" "$@"; }

name=mcp-preflight-$tag-$target
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$built" README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$folder/"
mkdir "$folder/completions"
for shell in bash zsh fish; do run completions "$shell" >"$folder/completions/mcp-preflight.$shell"; done
run man >"$folder/mcp-preflight.1"
mkdir -p dist
packed=$PWD/dist/$name.$archive
rm -f "$packed"
if [ "$archive" = tar.gz ]; then
  tar -czf "$packed" -C "$folder" .
elif command -v 7z >/dev/null; then
  # The one that GitHub's runners for Windows have.
  (cd "$folder" && 7z a -bso0 "$packed" .)
else
  (cd "$folder" && zip -q -r "$packed" .)
fi
echo "dist/$name.$archive"
