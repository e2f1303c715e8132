#!/bin/sh
# Entry point of the home-made MariaDB image. It keeps the contract of the
# public image: MARIADB_ROOT_PASSWORD (or MARIADB_ALLOW_EMPTY_ROOT_PASSWORD),
# MARIADB_DATABASE, MARIADB_USER, MARIADB_PASSWORD, MARIADB_ROOT_HOST count at
# the first start on a data directory only, each with its MYSQL_ twin; extra
# arguments go to the server.
set -eu

datadir=/var/lib/mysql
fresh=$datadir/.image-fresh # there until the users of the first start are made

root_password=${MARIADB_ROOT_PASSWORD:-${MYSQL_ROOT_PASSWORD:-}}
allow_empty=${MARIADB_ALLOW_EMPTY_ROOT_PASSWORD:-${MYSQL_ALLOW_EMPTY_PASSWORD:-}}
root_host=${MARIADB_ROOT_HOST:-${MYSQL_ROOT_HOST:-%}}
database=${MARIADB_DATABASE:-${MYSQL_DATABASE:-}}
user=${MARIADB_USER:-${MYSQL_USER:-}}
user_password=${MARIADB_PASSWORD:-${MYSQL_PASSWORD:-}}

# sql_string prints $1 as a quoted SQL string.
sql_string() {
	printf "'%s'" "$(printf '%s' "$1" | sed -e 's/\\/\\\\/g' -e "s/'/''/g")"
}

# sql_name prints $1 as a quoted SQL identifier.
sql_name() {
	printf '`%s`' "$(printf '%s' "$1" | sed -e 's/`/``/g')"
}

# sql_init prints the statements of the first start, one a line, which is what
# --init-file reads.
sql_init() {
	host=$(sql_string "$root_host")
	password=$(sql_string "$root_password")
	printf "%s\n" "DROP USER IF EXISTS 'mysql'@'localhost';"
	printf "%s\n" "ALTER USER 'root'@'localhost' IDENTIFIED BY $password;"
	if [ "$host" != "'localhost'" ]; then
		printf "%s\n" "CREATE USER IF NOT EXISTS 'root'@$host IDENTIFIED BY $password;"
		printf "%s\n" "GRANT ALL ON *.* TO 'root'@$host WITH GRANT OPTION;"
	fi
	if [ -n "$database" ]; then
		printf "%s\n" "CREATE DATABASE IF NOT EXISTS $(sql_name "$database");"
	fi
	if [ -n "$user" ]; then
		name=$(sql_string "$user")
		printf "%s\n" "CREATE USER IF NOT EXISTS $name@'%' IDENTIFIED BY $(sql_string "$user_password");"
		if [ -n "$database" ]; then
			pattern=$(printf '%s' "$database" | sed -e 's/_/\\_/g' -e 's/%/\\%/g')
			printf "%s\n" "GRANT ALL ON $(sql_name "$pattern").* TO $name@'%';"
		fi
	fi
}

case "${1:-}" in
'' | -*) set -- mariadbd "$@" ;;
mysqld) shift && set -- mariadbd "$@" ;;
esac
if [ "$1" != mariadbd ]; then
	exec "$@"
fi
shift

mkdir -p /run/mysqld "$datadir"
chown mysql:mysql /run/mysqld "$datadir"

if [ ! -d "$datadir/mysql" ]; then
	echo "entrypoint: initialising an empty $datadir"
	# --force: the host's name need not resolve. The socket method makes no
	# root@<name of this host> without a password.
	mariadb-install-db --no-defaults --force --user=mysql --datadir="$datadir" \
		--auth-root-authentication-method=socket --skip-test-db
	touch "$fresh"
fi
if [ "${1:-}" = --initialise-only ]; then # how the image is built
	exit 0
fi
if [ -e "$fresh" ]; then
	if [ -z "$root_password$allow_empty" ]; then
		echo "entrypoint: set MARIADB_ROOT_PASSWORD or MARIADB_ALLOW_EMPTY_ROOT_PASSWORD" >&2
		exit 1
	fi
	(umask 077 && sql_init >/run/mysqld/init.sql)
	chown mysql:mysql /run/mysqld/init.sql
	rm "$fresh"
	set -- --init-file=/run/mysqld/init.sql "$@"
else
	rm -f /run/mysqld/init.sql
fi
exec mariadbd --user=mysql --datadir="$datadir" "$@"
