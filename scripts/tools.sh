#!/bin/bash
# Makes sure of what the build needs beside Go: a C compiler (for the race
# detector), make, git, certificates. Installs them as root on Debian, else says
# in one line what to install.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

compiles() { echo '#include <stdlib.h>' | gcc -fsyntax-only -x c - 2>/dev/null; }

missing=()
command -v make >/dev/null || missing+=(make)
command -v git >/dev/null || missing+=(git)
compiles || missing+=(gcc libc6-dev)
[ -e /etc/ssl/certs/ca-certificates.crt ] || [ -d /etc/pki ] || [ "$(uname)" != Linux ] || missing+=(ca-certificates)
if [ ${#missing[@]} -gt 0 ]; then
	need_root "${missing[@]}"
	apt_install "${missing[@]}"
fi
