#!/bin/bash
# Makes a Docker engine answer. As root it installs and starts what is missing.
# A plain user without one is told in one line what to install, unless the
# servers can be had without: --mysql or --mariadb names the one that is wanted,
# both is the default. Done when `docker info` works; running it again is free.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

log=/var/log/xasink-dockerd.log
pid_file=/var/run/docker.pid
containerd_pid_file=/var/run/docker/containerd/containerd.pid
limit=60 # seconds until a started engine must answer

say() { echo "engine: $*"; }
fail() {
	echo "engine: $*" >&2
	exit 1
}
answers() { command -v docker >/dev/null && timeout 10 docker info >/dev/null 2>&1; }

# await waits until the engine answers, its process $1 is gone, or the limit.
await() {
	local deadline=$((SECONDS + limit))
	while [ $SECONDS -lt $deadline ]; do
		answers && return 0
		kill -0 "$1" 2>/dev/null || return 1
		sleep 0.5
	done
	return 1
}

if answers; then
	say "answers"
	exit 0
fi
# version_of prints the version of a server program of this machine, looked for
# where xasink-servers looks for it.
version_of() { # program
	PATH=$PATH:/usr/sbin:/usr/local/sbin:/usr/libexec "$1" --no-defaults --version 2>/dev/null
}

# lacks adds to lacking what a server needs that can be had without an engine.
lacking=()
lacks() { # mysql or mariadb
	case $1 in
	mysql)
		[ -n "${XASINK_TEST_DSN:-}" ] && return
		case $(version_of mysqld) in "" | *MariaDB*) lacking+=("mysqld, or set XASINK_TEST_DSN") ;; esac
		;;
	mariadb)
		[ -n "${XASINK_TEST_DSN_MARIADB:-}" ] && return
		case $(version_of mariadbd || version_of mysqld) in *MariaDB*) ;; *) lacking+=("mariadbd, or set XASINK_TEST_DSN_MARIADB") ;; esac
		;;
	esac
}

if [ "$(id -u)" != 0 ]; then
	case ${1:-} in
	--mysql) lacks mysql ;;
	--mariadb) lacks mariadb ;;
	*)
		lacks mysql
		lacks mariadb
		;;
	esac
	if [ ${#lacking[@]} = 0 ]; then
		say "none; the servers are those of the environment and of this machine"
		exit 0
	fi
	fail "none answers you: install Docker and join group docker, or run this as root, or install $(printf '%s; and ' "${lacking[@]}" | sed 's/; and $//')"
fi

if ! command -v dockerd >/dev/null; then
	need_root "a Docker engine"
	apt_install docker.io # so Debian names the package
fi
if ! command -v docker >/dev/null; then # a package of its own in newer releases
	need_root "the Docker client"
	apt_install docker-cli
fi
if answers; then # a service manager has started it
	say "answers"
	exit 0
fi

if running "$pid_file" dockerd; then
	say "a dockerd runs, waiting for it"
	await "$(cat "$pid_file")" || fail "the running dockerd (pid $(cat "$pid_file")) does not answer within $limit s"
	say "answers"
	exit 0
fi
# What a killed engine left stands in the way of the next.
for stale in "$pid_file dockerd" "$containerd_pid_file containerd"; do
	read -r file program <<<"$stale"
	if [ -e "$file" ] && ! running "$file" "$program"; then
		say "removing $file, which a killed $program left"
		rm -f "$file"
	fi
done

say "starting dockerd, log in $log"
started=$SECONDS
# In a session of its own, with nothing of this script's open: it outlives the
# script, and whoever waits for the end of the script's output does not wait.
setsid dockerd >"$log" 2>&1 </dev/null &
if ! await $!; then
	tail -n 30 "$log" >&2
	fail "dockerd did not come up within $limit s, see the lines above ($log)"
fi
say "answers after $((SECONDS - started)) s"
