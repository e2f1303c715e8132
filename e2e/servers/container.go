package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// Labels of the containers made here.
const (
	labelFlavour = "org.xasink.flavour"
	labelOwner   = "org.xasink.owner"
	labelClone   = "org.xasink.clone"
	labelKeep    = "org.xasink.keep"
)

const (
	portTries     = 5
	shutdownLimit = time.Minute // for an orderly end, before the engine kills
)

// inContainer is a server in a container. The port is chosen here and not by
// the engine, which would choose another at a restart.
type inContainer struct {
	engine    engine
	container *testcontainers.DockerContainer
	name      string
	flavour   Flavour
	removed   bool
}

// startContainer runs a new container and takes the engine over. Before, it
// removes what dead processes left.
func startContainer(ctx context.Context, e engine, flavour Flavour, opts Options) (host, int, error) {
	if err := e.removeContainers(ctx, opts.Log, Leftovers{}); err != nil {
		fmt.Fprintf(opts.Log, "leftover containers: %v\n", err)
	}
	var err error
	for range portTries {
		var port int
		if port, err = freePort(ctx); err != nil {
			break
		}
		name := fmt.Sprintf("xasink-%s-%d", flavour, port)
		fmt.Fprintf(opts.Log, "%s: starting container %s from image %s\n", flavour, name, imageOf(flavour))
		var c *testcontainers.DockerContainer
		c, err = runContainer(ctx, name, port, flavour, opts)
		h := &inContainer{engine: e, container: c, name: name, flavour: flavour}
		if err == nil {
			return h, port, nil
		}
		if c != nil {
			err = errors.Join(err, h.discard(ctx))
		}
		if !strings.Contains(err.Error(), "already") { // port or name taken meanwhile
			break
		}
	}
	return nil, 0, errors.Join(fmt.Errorf("start a %s container: %w", flavour, err), e.close())
}

func runContainer(ctx context.Context, name string, port int, flavour Flavour, opts Options) (*testcontainers.DockerContainer, error) {
	prefix := "MYSQL"
	if flavour == MariaDB {
		prefix = "MARIADB"
	}
	labels := map[string]string{labelFlavour: string(flavour), labelOwner: self().String(), labelClone: clone()}
	if opts.Keep {
		labels[labelKeep] = "true"
	}
	inside := network.MustParsePort("3306/tcp")
	outside := network.PortBinding{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: strconv.Itoa(port)}
	return testcontainers.Run(ctx, imageOf(flavour),
		testcontainers.WithName(name),
		testcontainers.WithLabels(labels),
		testcontainers.WithEnv(map[string]string{prefix + "_ROOT_PASSWORD": rootPassword}),
		testcontainers.WithCmd(append([]string{"--max-connections=1000"}, opts.Args...)...),
		testcontainers.WithExposedPorts(inside.String()),
		testcontainers.WithHostConfigModifier(func(c *container.HostConfig) {
			c.PortBindings = network.PortMap{inside: {outside}}
		}),
	)
}

func (h *inContainer) id() string { return h.container.GetContainerID() }

func (h *inContainer) run(ctx context.Context) error {
	_, err := h.engine.ContainerStart(ctx, h.id(), client.ContainerStartOptions{})
	return err
}

func (h *inContainer) end(ctx context.Context, now bool) error {
	var err error
	if now {
		_, err = h.engine.ContainerKill(ctx, h.id(), client.ContainerKillOptions{Signal: "SIGKILL"})
		if errdefs.IsConflict(err) { // not running
			err = nil
		}
	} else {
		seconds := int(shutdownLimit.Seconds())
		_, err = h.engine.ContainerStop(ctx, h.id(), client.ContainerStopOptions{Timeout: &seconds})
	}
	if err != nil {
		return err
	}
	wait := h.engine.ContainerWait(ctx, h.id(), client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case <-wait.Result:
		return nil
	case err := <-wait.Error:
		return err
	}
}

func (h *inContainer) running(ctx context.Context) (bool, error) {
	state, err := h.container.State(ctx)
	if err != nil {
		return false, err
	}
	return state.Running, nil
}

func (h *inContainer) logs(ctx context.Context) (string, error) {
	r, err := h.container.Logs(ctx)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	return string(text), err
}

func (h *inContainer) remove(ctx context.Context) error {
	if h.removed {
		return nil
	}
	if err := h.discard(ctx); err != nil {
		return err
	}
	h.removed = true
	return h.engine.close()
}

// discard removes the container with its volume and keeps the engine; ctx may
// have ended.
func (h *inContainer) discard(ctx context.Context) error {
	ctx, cancel := cleanup(ctx)
	defer cancel()
	return h.engine.removeContainer(ctx, h.id())
}

func (e engine) removeContainer(ctx context.Context, id string) error {
	_, err := e.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if errdefs.IsNotFound(err) || errdefs.IsConflict(err) { // gone, or somebody else is at it
		return nil
	}
	return err
}

// removeContainers removes the containers that which includes.
func (e engine) removeContainers(ctx context.Context, log io.Writer, which Leftovers) error {
	list, err := e.ContainerList(ctx, client.ContainerListOptions{
		All:     true,
		Filters: make(client.Filters).Add("label", labelOwner),
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range list.Items {
		if !which.include(mark{c.Labels[labelOwner], c.Labels[labelClone], c.Labels[labelKeep] != ""}) {
			continue
		}
		fmt.Fprintf(log, "removing container %s, which an earlier run left\n", strings.TrimPrefix(strings.Join(c.Names, " "), "/"))
		if err := e.removeContainer(ctx, c.ID); err != nil {
			errs = append(errs, fmt.Errorf("remove container %s: %w", c.ID, err))
		}
	}
	return errors.Join(errs...)
}

func (h *inContainer) shellCommand() string {
	return fmt.Sprintf("docker exec -it %s %s -u%s -p%s", h.name, h.flavour, rootUser, rootPassword)
}

func (h *inContainer) removeCommand() string { return "docker rm -f -v " + h.name }
