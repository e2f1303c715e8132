#!/bin/sh
# Entry point of the home-made MySQL image. It keeps the contract of the public
# image: MYSQL_ROOT_PASSWORD (or MYSQL_ALLOW_EMPTY_PASSWORD), MYSQL_DATABASE,
# MYSQL_USER, MYSQL_PASSWORD, MYSQL_ROOT_HOST count at the first start on a
# data directory only; extra arguments go to the server.
set -eu

datadir=/var/lib/mysql
fresh=$datadir/.image-fresh # there until the users of the first start are made

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
	host=$(sql_string "${MYSQL_ROOT_HOST:-%}")
	password=$(sql_string "${MYSQL_ROOT_PASSWORD:-}")
	printf "%s\n" "ALTER USER 'root'@'localhost' IDENTIFIED BY $password;"
	if [ "$host" != "'localhost'" ]; then
		printf "%s\n" "CREATE USER IF NOT EXISTS 'root'@$host IDENTIFIED BY $password;"
		printf "%s\n" "GRANT ALL ON *.* TO 'root'@$host WITH GRANT OPTION;"
	fi
	if [ -n "${MYSQL_DATABASE:-}" ]; then
		printf "%s\n" "CREATE DATABASE IF NOT EXISTS $(sql_name "$MYSQL_DATABASE");"
	fi
	if [ -n "${MYSQL_USER:-}" ]; then
		user=$(sql_string "$MYSQL_USER")
		printf "%s\n" "CREATE USER IF NOT EXISTS $user@'%' IDENTIFIED BY $(sql_string "${MYSQL_PASSWORD:-}");"
		if [ -n "${MYSQL_DATABASE:-}" ]; then
			pattern=$(printf '%s' "$MYSQL_DATABASE" | sed -e 's/_/\\_/g' -e 's/%/\\%/g')
			printf "%s\n" "GRANT ALL ON $(sql_name "$pattern").* TO $user@'%';"
		fi
	fi
}

case "${1:-}" in
'' | -*) set -- mysqld "$@" ;;
esac
if [ "$1" != mysqld ]; then
	exec "$@"
fi
shift

mkdir -p /var/run/mysqld /var/lib/mysql-files "$datadir"
chown mysql:mysql /var/run/mysqld /var/lib/mysql-files "$datadir"

if [ ! -d "$datadir/mysql" ]; then
	echo "entrypoint: initialising an empty $datadir"
	mysqld --no-defaults --initialize-insecure --user=mysql --datadir="$datadir"
	# The server makes its UUID anew at its start, so that no two containers
	# of an image built with this data share one.
	rm -f "$datadir/auto.cnf"
	touch "$fresh"
fi
if [ "${1:-}" = --initialise-only ]; then # how the image is built
	exit 0
fi
if [ -e "$fresh" ]; then
	if [ -z "${MYSQL_ROOT_PASSWORD:-}${MYSQL_ALLOW_EMPTY_PASSWORD:-}" ]; then
		echo "entrypoint: set MYSQL_ROOT_PASSWORD or MYSQL_ALLOW_EMPTY_PASSWORD" >&2
		exit 1
	fi
	(umask 077 && sql_init >/var/run/mysqld/init.sql)
	chown mysql:mysql /var/run/mysqld/init.sql
	rm "$fresh"
	set -- --init-file=/var/run/mysqld/init.sql "$@"
else
	rm -f /var/run/mysqld/init.sql
fi
exec mysqld --user=mysql --datadir="$datadir" "$@"
