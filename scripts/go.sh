#!/bin/bash
# Makes sure of a Go toolchain that is new enough for go.mod: the one on PATH, or
# one in .cache/go of this project, which the Makefile puts before it. An older
# go on PATH (as root on Debian it is installed) fetches the newer toolchain,
# which is published as a Go module and checked against the checksum database.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh

wanted=1.26 # as in go.mod
fetched=1.26.8

# new_enough tells whether a go program is there and at least as new as wanted.
new_enough() {
	local version
	version=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
	[ "$(printf '%s\n' "go$wanted" "$version" | sort -V | head -n 1)" = "go$wanted" ]
}

if new_enough .cache/go/bin/go || new_enough go; then
	exit 0
fi
if ! command -v go >/dev/null; then
	need_root "Go $wanted or newer"
	apt_install golang-go
fi

module=golang.org/toolchain@v0.0.1-go$fetched.$(go env GOOS)-$(go env GOARCH)
echo "go: $(go env GOVERSION) is older than $wanted, fetching $module"
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
# A module cache of its own: the files are moved out of it. Outside of this
# module, since an old go cannot read its go.mod.
(cd "$work" && GOFLAGS='' GOMODCACHE=$work/mod go mod download "$module") ||
	{ echo "please install: Go $wanted or newer" >&2; exit 1; }
chmod -R u+w "$work"
rm -rf .cache/go
mkdir -p .cache
mv "$work/mod/$module" .cache/go
# A module's files are not executable, a toolchain's programs must be.
chmod +x .cache/go/bin/* .cache/go/pkg/tool/*/*
new_enough .cache/go/bin/go
echo "go: $(GOTOOLCHAIN=local .cache/go/bin/go version) in .cache/go"
