package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"

	"github.com/xasink/xasink/e2e/images"
)

const (
	engineLimit = 5 * time.Second  // for an engine to answer
	pullLimit   = 10 * time.Minute // for an image of some hundred megabytes
)

// engine is a Docker engine that answered.
type engine struct{ *testcontainers.DockerClient }

// setUpOnce settings of testcontainers, which it reads once: its reaper is
// another image to pull, and leftovers are removed by label here; a machine may
// look like a container to it and is none. What the user has set stays.
var setUp = sync.OnceFunc(func() {
	for name, value := range map[string]string{
		"TESTCONTAINERS_RYUK_DISABLED": "true",
		"TESTCONTAINERS_HOST_OVERRIDE": "127.0.0.1",
	} {
		if _, set := os.LookupEnv(name); !set {
			os.Setenv(name, value)
		}
	}
	tclog.SetDefault(tclog.NewNoopLogger())
})

// connectEngine finds the engine. The error says why there is none.
func connectEngine(ctx context.Context) (engine, error) {
	setUp()
	ctx, cancel := context.WithTimeout(ctx, engineLimit)
	defer cancel()
	c, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return engine{}, err
	}
	if _, err := c.Ping(ctx, client.PingOptions{}); err != nil {
		return engine{}, errors.Join(err, c.Close())
	}
	return engine{c}, nil
}

func (e engine) close() error { return e.Close() }

// imageOf is the image that containers of a flavour are made from.
func imageOf(flavour Flavour) string {
	if set := os.Getenv(flavour.imageVariable()); set != "" {
		return set
	}
	return flavour.defaultImage()
}

// ensureImage returns when the engine has the flavour's image: present, or
// pulled, or built.
func (e engine) ensureImage(ctx context.Context, flavour Flavour, log io.Writer) error {
	image := imageOf(flavour)
	_, err := e.ImageInspect(ctx, image)
	if err == nil {
		return nil
	}
	if !errdefs.IsNotFound(err) {
		return fmt.Errorf("look for image %s: %w", image, err)
	}
	fmt.Fprintf(log, "image %s: not here, pulling\n", image)
	pullErr := e.pull(ctx, image)
	if pullErr == nil {
		return nil
	}
	fmt.Fprintf(log, "image %s: cannot be pulled (%v), building\n", image, pullErr)
	return images.Build(ctx, string(flavour), image, log)
}

func (e engine) pull(ctx context.Context, image string) error {
	ctx, cancel := context.WithTimeout(ctx, pullLimit)
	defer cancel()
	progress, err := e.ImagePull(ctx, image, client.ImagePullOptions{})
	if err != nil {
		return err
	}
	defer progress.Close()
	return progress.Wait(ctx)
}
