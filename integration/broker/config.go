package broker

import (
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
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
	// Heap is the JVM's -Xmx; 768m by default.
	Heap string
}

// EnsureDefaults fills in what is not set.
func (o *Options) EnsureDefaults() {
	if o.Version == "" {
		o.Version = Newest
	}
	if o.Heap == "" {
		o.Heap = "768m"
	}
}

// ports are the node's, chosen once: a restart uses the same.
type ports struct{ plain, controller, sasl int }

// choosePorts asks the kernel for free ports.
func choosePorts() (ports, error) {
	var p ports
	for _, port := range []*int{&p.plain, &p.controller, &p.sasl} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return ports{}, err
		}
		// Closed only at the end: the kernel could give the same port twice.
		defer l.Close()
		*port = l.Addr().(*net.TCPAddr).Port
	}
	return p, nil
}

// properties renders the node's server.properties, sorted by name.
func (o *Options) properties(p ports) string {
	props := map[string]string{
		"process.roles":             "broker,controller",
		"node.id":                   "1",
		"controller.quorum.voters":  fmt.Sprintf("1@127.0.0.1:%d", p.controller),
		"controller.listener.names": "CONTROLLER",
		"listeners":                 fmt.Sprintf("PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d", p.plain, p.controller),
		"log.dirs":                  filepath.Join(o.Dir, "data"),
		// A test says which topics it needs; one that is made by mistake would hide a fault.
		"auto.create.topics.enable":                "false",
		"group.initial.rebalance.delay.ms":         "0",
		"offsets.topic.replication.factor":         "1",
		"offsets.topic.num.partitions":             "4",
		"transaction.state.log.replication.factor": "1",
		"transaction.state.log.min.isr":            "1",
		"transaction.state.log.num.partitions":     "4",
		// The default, 128 MB, does not fit beside the rest in a small heap.
		"log.cleaner.dedupe.buffer.size": "16777216",
		"num.network.threads":            "2",
		"num.io.threads":                 "4",
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
