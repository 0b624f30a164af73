// Package proxy stands between clients and a Kafka cluster and does to their requests, their answers and their connections
// what a network and a dying broker do.
//
// It holds one listener for the addresses that clients start with and one for each broker that an answer names; the
// addresses in answers are rewritten, so a client stays behind the proxy. It reads the frames of the protocol, so a fault
// can be aimed at one kind of request.
//
// The types to know: [Proxy], made by [Start]; [Rule], which says which requests are hit and by which [Action], and [Armed],
// a rule in force, which tells how often it has fired; [Link], which says which connections a [Fault] is on.
//
//	p, err := proxy.Start(proxy.Options{Brokers: cluster.Brokers})
//	lost := p.Add(proxy.Rule{Key: kmsg.EndTxn, Match: proxy.Commits, Skip: 3, Action: proxy.DropAnswer()})
//	err = lost.Wait(ctx, 1)
//	cut := p.Cut(proxy.Link{Keys: []kmsg.Key{kmsg.Fetch}})
//	cut.Heal()
//	p.Close()
//
// The invariant that everything rests on: on one connection answers come in the order of the requests, as Kafka has it, also
// those that the proxy makes itself. So what is late makes everything behind it on its connection late, and a connection
// that misses an answer is closed.
//
// Five goroutines serve a connection: two for each direction, of which one reads and decides, and one waits and writes; and
// one that gives up connecting to a broker. They end with the connection; Close ends all.
//
// It speaks the plain protocol: no TLS. SASL passes through. What an outcome of a fault must be is left to the tests.
package proxy
