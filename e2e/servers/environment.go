package servers

import "fmt"

// DSNVariable is the environment variable whose server replaces started ones
// of this flavour.
func (f Flavour) DSNVariable() string {
	if f == MariaDB {
		return "XASINK_TEST_DSN_MARIADB"
	}
	return "XASINK_TEST_DSN"
}

// imageVariable is the environment variable that names another image.
func (f Flavour) imageVariable() string {
	if f == MariaDB {
		return "XASINK_TEST_MARIADB_IMAGE"
	}
	return "XASINK_TEST_MYSQL_IMAGE"
}

func (f Flavour) defaultImage() string {
	if f == MariaDB {
		return "mariadb:11.8"
	}
	return "mysql:9.7"
}

// Environment tells which variables Start reads, a line each, for the help of
// commands that start servers.
func Environment() string {
	text := "environment:\n"
	for _, f := range []Flavour{MySQL, MariaDB} {
		text += fmt.Sprintf("  %-26s data source name of an administrator, user:password@tcp(host:port)/:\n"+
			"  %-26s this server is taken as %s, and none is started\n", f.DSNVariable(), "", f)
	}
	for _, f := range []Flavour{MySQL, MariaDB} {
		text += fmt.Sprintf("  %-26s image for containers of %s instead of %s\n", f.imageVariable(), f, f.defaultImage())
	}
	return text + fmt.Sprintf("  %-26s where the Docker engine listens, as for docker itself\n", "DOCKER_HOST")
}
