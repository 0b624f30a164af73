package doctor

import (
	"fmt"
	"strings"
)

// Grant is one operation on one resource that the job needs, and whether it is allowed.
type Grant struct {
	// Kind is topic, group, transactional-id or cluster, as kafka-acls.sh calls them.
	Kind string
	// Name of the resource; empty for the cluster.
	Name string
	// Operation as kafka-acls.sh calls it: Read, Write, DescribeConfigs.
	Operation string
	// For says what it is needed for.
	For string
	// Optional: without it the job works, and something is missing.
	Optional bool
	// Allowed is the answer, if Err is nil.
	Allowed bool
	// Err is why it could not be found out.
	Err error
}

func (g Grant) resource() string {
	if g.Name == "" {
		return g.Kind
	}
	return g.Kind + " " + g.Name
}

// Access judges what the job may do. cluster is as for [Brokers]; principal is whom the brokers take the job for, as far as
// its settings tell, empty if they do not.
func Access(cluster, principal string, grants []Grant) []Finding {
	l := list{check: "access"}
	within := ""
	if cluster != "" {
		within = cluster + ", "
	}
	allowed := 0
	for i, g := range grants {
		switch {
		case g.Err != nil:
			if i == 0 || grants[i-1].Err == nil || grants[i-1].resource() != g.resource() {
				l.findings = append(l.findings, Unknown(l.check, within+g.resource(), g.Err))
			}
		case g.Allowed:
			allowed++
		case g.Optional:
			l.add(Warning, within+g.resource(), g.acl(principal), "%s is not allowed: %s", g.Operation, g.For)
		default:
			l.add(Error, within+g.resource(), g.acl(principal), "%s is not allowed, which is needed for %s", g.Operation, g.For)
		}
	}
	subject := cluster
	if subject == "" {
		subject = "cluster"
	}
	if allowed > 0 {
		l.add(OK, subject, "", "%d of the %d operations that the job needs are allowed", allowed, len(grants))
	}
	return l.findings
}

// acl is the command that allows it.
func (g Grant) acl(principal string) string {
	if principal == "" {
		principal = "PRINCIPAL"
	}
	resource := "--" + g.Kind
	switch {
	case g.Kind == "transactional-id":
		// The slots' IDs share all but their last number.
		resource += " " + g.Name[:strings.LastIndex(g.Name, ".")+1] + " --resource-pattern-type prefixed"
	case g.Name != "":
		resource += " " + g.Name
	}
	return fmt.Sprintf("kafka-acls.sh --bootstrap-server ... --add --allow-principal User:%s %s --operation %s", principal, resource, g.Operation)
}
