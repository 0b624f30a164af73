// Package typed reads JSON text into values of a Go type and writes it from them: what job.JSON and job.JSONOut are made of,
// and where their rules are written down.
//
// A [Decoder] and an [Encoder] hold a plan that is made once, by reflection: of each field of a struct its name, what it is
// and where it lies. Along the plan a value is read or written without reflection; a string shares the text's bytes. What is
// rare (maps, arrays, interfaces, types with methods of their own) is a value of kind other: encoding/json does it, for
// that value alone.
//
// Invariant: the plan knows the type of what lies at an address; nothing else does, for addresses travel as
// unsafe.Pointer. An address may lie in the caller's stack, so no memory of the heap may hold it: where reflection or
// encoding/json are needed, they work on a copy ([value.copyOf]).
package typed
