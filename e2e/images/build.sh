#!/bin/bash
# Builds a database image from Debian's packages, for machines that reach no
# image registry. The image keeps the contract of the public one (entry point,
# variables, extra arguments to the server, data in a volume).
#
#	build.sh mysql|mariadb [IMAGE]
#
# IMAGE is the tag to give, mysql:9.7 or mariadb:11.8 unless said. Needs root, a
# running Docker engine and debootstrap (installed when missing). Does nothing
# when the image is already there.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
flavour=${1:-}
case $flavour in
mysql)
	image=${2:-mysql:9.7}
	suite=sid
	packages=mysql-server-core,mysql-client-core
	server=mysqld
	;;
mariadb)
	image=${2:-mariadb:11.8}
	suite=trixie
	packages=mariadb-server-core,mariadb-client-core
	server=mariadbd
	;;
*)
	echo "usage: build.sh mysql|mariadb [IMAGE]" >&2
	exit 2
	;;
esac

started=$SECONDS
say() { echo "image $image: $* ($((SECONDS - started)) s)"; }
fail() {
	echo "image $image: $*" >&2
	exit 1
}

# The lock lets two test processes that miss the image at once build it once.
exec 9>"/tmp/xasink-image-$flavour.$(id -u).lock"
flock 9

docker info >/dev/null 2>&1 || fail "no Docker engine answers; start one first (scripts/engine.sh as root does)"
if docker image inspect "$image" >/dev/null 2>&1; then
	say "already there"
	exit 0
fi
[ "$(id -u)" = 0 ] || fail "neither present nor pullable, and building it needs root: run 'sudo $here/build.sh $flavour $image', or pull it"
if ! command -v debootstrap >/dev/null; then
	command -v apt-get >/dev/null || fail "install debootstrap: the image is built from Debian's packages"
	say "installing debootstrap"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
fi

work=$(mktemp -d /var/tmp/xasink-image.XXXXXX)
root=$work/root

# cleanup removes the tree, but never through a mount left inside it.
cleanup() {
	for mount in $(awk -v under="$root/" 'index($2, under) == 1 { print $2 }' /proc/mounts | sort -r); do
		umount "$mount" || return 0
	done
	rm -rf --one-file-system "$work"
}
trap cleanup EXIT

say "fetching and unpacking Debian $suite with $packages, about a minute"
if ! debootstrap --variant=minbase --include="$packages" "$suite" "$root" >"$work/debootstrap.log" 2>&1; then
	tail -n 20 "$work/debootstrap.log" "$root/debootstrap/debootstrap.log" >&2 2>/dev/null || true
	fail "debootstrap failed, see the lines above"
fi

in_root() { chroot "$root" env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C "$@"; }

version=$(in_root $server --version)
say "unpacked: $version"
case $version in
*" ${image##*:}."* | *" ${image##*:}-"*) ;;
*) say "WARNING: Debian's version is another than the tag says" ;;
esac

in_root groupadd --system --gid 999 mysql
in_root useradd --system --uid 999 --gid mysql --home-dir /var/lib/mysql --no-create-home --shell /usr/sbin/nologin mysql
rm -rf "$root/etc/mysql" "$root/var/lib/mysql"
mkdir -p "$root/etc/mysql/conf.d" "$root/run/mysqld" "$root/var/lib/mysql" "$root/var/lib/mysql-files"
in_root chown mysql:mysql /run/mysqld /var/lib/mysql /var/lib/mysql-files
install -m 644 "$here/$flavour.cnf" "$root/etc/my.cnf"
install -m 755 "$here/$flavour-entrypoint.sh" "$root/usr/local/bin/docker-entrypoint.sh"

# A data directory made now saves each container five seconds at its start.
say "making the data directory"
if ! in_root docker-entrypoint.sh --initialise-only >"$work/initialise.log" 2>&1; then
	tail -n 20 "$work/initialise.log" >&2
	fail "the data directory could not be made, see the lines above"
fi

rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/doc/* "$root"/usr/share/man/*

say "importing"
tar -C "$root" --one-file-system -c . | docker import \
	-m "$server from Debian $suite" \
	-c 'ENTRYPOINT ["docker-entrypoint.sh"]' \
	-c "CMD [\"$server\"]" \
	-c 'EXPOSE 3306' \
	-c 'VOLUME /var/lib/mysql' \
	- "$image" >/dev/null
say "ready"
