package broker

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Options say which Kafka to start and how.
type Options struct {
	// Version is Kafka's; Newest by default.
	Version string
	// Dir holds the node's data, configuration and log. It must exist and belongs to the broker until it has stopped.
	Dir string
	// Features are format options such as {"transaction.version": "0"}; what is not named has the version's own default.
	Features map[string]string
	// Properties are added to the configuration, and win over it.
	Properties map[string]string
	// Users, if any, get a second listener with SASL PLAIN over plain text: user name to password.
	Users map[string]string
	// Port is the plain listener's; by default any that is free.
	Port int
	// Heap is the JVM's -Xmx; 768m by default, 384m for each of several nodes.
	Heap string
	// Light makes a JVM that compiles less: it starts with half of the work, and is slower under full load. Nodes of a
	// cluster of several always are.
	Light bool
	// Data is the folder of the node's logs, which a test may put on a small disk; by default one below Dir. It must exist if
	// it is named.
	Data string
	// Env is added to the environment of the JVM, for example by Clock.
	Env []string
	// place is the node's in its cluster; the zero value is the only one.
	place place
}

// place is one node among those that form a cluster.
type place struct {
	id     int    // from 1 on
	nodes  int    // how many there are
	voters string // controller.quorum.voters, "" for the only node
}

// EnsureDefaults fills in what is not set.
func (o *Options) EnsureDefaults() {
	if o.Version == "" {
		o.Version = Newest
	}
	if o.Heap == "" {
		o.Heap = "768m"
		if o.place.nodes > 1 {
			o.Heap = "384m"
		}
	}
	o.Light = o.Light || o.place.nodes > 1
	if o.Data == "" {
		o.Data = filepath.Join(o.Dir, "data")
	}
	if o.place.id == 0 {
		o.place = place{id: 1, nodes: 1}
	}
}

// ports are the node's, chosen once: a restart uses the same.
type ports struct{ plain, controller, sasl int }

// The ports are taken from below those that the kernel gives to outgoing connections (from 32768 on): a node that is down for
// a while must find its own free when it comes back.
const lowestPort, highestPort = 12_000, 32_000

// choosePorts picks free ports for some nodes.
func choosePorts(nodes int) ([]ports, error) {
	chosen := make([]ports, nodes)
	for i := range chosen {
		p := &chosen[i]
		for _, port := range []*int{&p.plain, &p.controller, &p.sasl} {
			l, err := listenAnywhere()
			if err != nil {
				return nil, err
			}
			// Closed only at the end: the same port could be picked twice.
			defer l.Close()
			*port = l.Addr().(*net.TCPAddr).Port
		}
	}
	return chosen, nil
}

func listenAnywhere() (l net.Listener, err error) {
	for range 100 {
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return l, nil
		}
	}
	return nil, err
}

// properties renders the node's server.properties, sorted by name.
func (o *Options) properties(p ports) string {
	voters := o.place.voters
	if voters == "" {
		voters = fmt.Sprintf("%d@127.0.0.1:%d", o.place.id, p.controller)
	}
	replicas, least := strconv.Itoa(o.place.nodes), strconv.Itoa(o.place.nodes/2+1)
	props := map[string]string{
		"process.roles":             "broker,controller",
		"node.id":                   strconv.Itoa(o.place.id),
		"controller.quorum.voters":  voters,
		"controller.listener.names": "CONTROLLER",
		"listeners":                 fmt.Sprintf("PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d", p.plain, p.controller),
		"log.dirs":                  o.Data,
		// A test says which topics it needs; one that is made by mistake would hide a fault.
		"auto.create.topics.enable":                "false",
		"group.initial.rebalance.delay.ms":         "0",
		"default.replication.factor":               replicas,
		"min.insync.replicas":                      least,
		"offsets.topic.replication.factor":         replicas,
		"offsets.topic.num.partitions":             "4",
		"transaction.state.log.replication.factor": replicas,
		"transaction.state.log.min.isr":            least,
		"transaction.state.log.num.partitions":     "4",
		// The default, 128 MB, does not fit beside the rest in a small heap.
		"log.cleaner.dedupe.buffer.size": "16777216",
		"num.network.threads":            "2",
		"num.io.threads":                 "4",
	}
	if o.place.nodes > 1 {
		// A node that is gone is given up soon. The default, 9 s, would be most of a scenario.
		props["broker.session.timeout.ms"] = "3000"
		props["broker.heartbeat.interval.ms"] = "500"
	}
	if len(o.Users) > 0 {
		props["listeners"] += fmt.Sprintf(",SASL_PLAINTEXT://127.0.0.1:%d", p.sasl)
		props["listener.security.protocol.map"] = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT"
		props["sasl.enabled.mechanisms"] = "PLAIN"
		props["listener.name.sasl_plaintext.plain.sasl.jaas.config"] = o.jaas()
	}
	maps.Copy(props, o.Properties)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(props)) {
		fmt.Fprintf(&b, "%s=%s\n", name, props[name])
	}
	return b.String()
}

func (o *Options) jaas() string {
	var b strings.Builder
	b.WriteString("org.apache.kafka.common.security.plain.PlainLoginModule required")
	for _, user := range slices.Sorted(maps.Keys(o.Users)) {
		fmt.Fprintf(&b, " user_%s=%q", user, o.Users[user])
	}
	b.WriteString(";")
	return b.String()
}

// formatArgs are the arguments of Kafka's storage tool.
func (o *Options) formatArgs(file string) []string {
	args := []string{"kafka.tools.StorageTool", "format", "--ignore-formatted", "-t", clusterID, "-c", file}
	for _, name := range slices.Sorted(maps.Keys(o.Features)) {
		args = append(args, "--feature", name+"="+o.Features[name])
	}
	return args
}

// clusterID is 16 bytes in base64, as Kafka wants it; every cluster of the tests is alone on its ports.
const clusterID = "4L6g3nShT-eMCtK--X86sw"
