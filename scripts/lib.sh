# Functions of the scripts of this folder. Read with `.`, never run.

# need_root fails with one line that says what to install, unless this is root
# on a Debian-like system, where apt_install can do it.
need_root() { # what to install
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		echo "please install: $*" >&2
		exit 1
	fi
}

# apt_install installs packages without questions. It waits for another apt.
apt_install() { # packages
	echo "installing $*"
	export DEBIAN_FRONTEND=noninteractive
	apt-get -o DPkg::Lock::Timeout=300 update -qq
	apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends "$@" >/dev/null
}

# running tells whether the process of a pid file lives and is the named program.
running() { # pid-file program
	local pid
	pid=$(cat "$1" 2>/dev/null) && [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ]
}
