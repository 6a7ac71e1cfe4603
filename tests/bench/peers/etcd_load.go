// Load for etcd by its own client in Go: what `load.py` does, asked in the way of etcd's users.
//
// etcd_load ADDRESS OPERATION CONNECTIONS OUTSTANDING VALUE_BYTES KEYS SECONDS PID ...
// prints what came of it as JSON, in the units of `workloads.Measured`. Every connection is a client
// of its own, and every outstanding request a goroutine, which waits for its answer.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/etcd/clientv3"
)

const (
	keyBytes       = 16
	txnPuts        = 10
	warmUp         = 500 * time.Millisecond
	requestTimeout = 10 * time.Second
	ticksPerSecond = 100 // of /proc/PID/stat: USER_HZ, the same on every Linux
)

type load struct {
	operation   string
	clients     []*clientv3.Client
	outstanding int
	keys        []string
	value       string
}

// end leaves with the reason, as every load of the comparison does.
func end(format string, values ...interface{}) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}

func number(text string) int {
	found, err := strconv.Atoi(text)
	if err != nil {
		end("not a number: %s", text)
	}
	return found
}

// ask does one operation and waits for its answer.
func (l *load) ask(client *clientv3.Client, dice *rand.Rand) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	key := func() string { return l.keys[dice.Intn(len(l.keys))] }
	var err error
	switch l.operation {
	case "put":
		_, err = client.Put(ctx, key(), l.value)
	case "get":
		_, err = client.Get(ctx, key())
	case "txn10":
		puts := map[string]clientv3.Op{} // etcd refuses a key twice
		for i := 0; i < txnPuts; i++ {
			chosen := key()
			puts[chosen] = clientv3.OpPut(chosen, l.value)
		}
		operations := make([]clientv3.Op, 0, txnPuts)
		for _, put := range puts {
			operations = append(operations, put)
		}
		_, err = client.Txn(ctx).Then(operations...).Commit()
	default:
		end("no such operation: %s", l.operation)
	}
	return err
}

// fill puts every key, ten in a transaction.
func (l *load) fill() {
	for at := 0; at < len(l.keys); at += txnPuts {
		var puts []clientv3.Op
		for _, key := range l.keys[at:min(at+txnPuts, len(l.keys))] {
			puts = append(puts, clientv3.OpPut(key, l.value))
		}
		if _, err := l.clients[0].Txn(context.Background()).Then(puts...).Commit(); err != nil {
			end("fill: %v", err)
		}
	}
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

// run asks for so long, and waits for the rest: sorted latencies, and the time it took.
func (l *load) run(length time.Duration) ([]time.Duration, time.Duration) {
	var mutex sync.Mutex
	var group sync.WaitGroup
	var all []time.Duration
	begin := time.Now()
	until := begin.Add(length)
	for number, client := range l.clients {
		for slot := 0; slot < l.outstanding; slot++ {
			group.Add(1)
			go func(client *clientv3.Client, seed int64) {
				defer group.Done()
				dice := rand.New(rand.NewSource(seed))
				var own []time.Duration
				for begun := time.Now(); begun.Before(until); begun = time.Now() {
					if err := l.ask(client, dice); err != nil {
						end("%s: %v", l.operation, err)
					}
					own = append(own, time.Since(begun))
				}
				mutex.Lock()
				all = append(all, own...)
				mutex.Unlock()
			}(client, int64(number*l.outstanding+slot))
		}
	}
	group.Wait()
	took := time.Since(begin)
	sort.Slice(all, func(a, b int) bool { return all[a] < all[b] })
	return all, took
}

// ofNodes is the processor time of these processes until now, in seconds.
func ofNodes(pids []string) float64 {
	ticks := 0
	for _, pid := range pids {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			end("a node is gone: %v", err)
		}
		// The name of the program, in brackets, may have spaces: fields 14 and 15 are counted from its end.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		ticks += number(fields[11]) + number(fields[12])
	}
	return float64(ticks) / ticksPerSecond
}

// ofThis is the processor time of this process until now, in seconds.
func ofThis() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		end("getrusage: %v", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func main() {
	if len(os.Args) < 8 {
		end("ADDRESS OPERATION CONNECTIONS OUTSTANDING VALUE_BYTES KEYS SECONDS PID ...")
	}
	words, pids := os.Args[1:8], os.Args[8:]
	seconds, err := strconv.ParseFloat(words[6], 64)
	if err != nil {
		end("not a number of seconds: %s", words[6])
	}
	dice := rand.New(rand.NewSource(1))
	l := load{operation: words[1], outstanding: number(words[3])}
	l.value = random(dice, number(words[4]))
	for i := number(words[5]); i > 0; i-- {
		l.keys = append(l.keys, random(dice, keyBytes))
	}
	for i := number(words[2]); i > 0; i-- {
		client, err := clientv3.New(clientv3.Config{
			Endpoints: []string{words[0]}, DialTimeout: requestTimeout,
		})
		if err != nil {
			end("%s: %v", words[0], err)
		}
		defer client.Close()
		l.clients = append(l.clients, client)
	}
	if l.operation == "get" {
		l.fill()
	}
	l.run(warmUp)
	nodes, own := ofNodes(pids), ofThis()
	latencies, took := l.run(time.Duration(seconds * float64(time.Second)))
	nodes, own = ofNodes(pids)-nodes, ofThis()-own
	count := len(latencies)
	if count == 0 {
		end("nothing was answered within %v s", seconds)
	}
	found := map[string]float64{
		"ops_per_second": float64(count) / took.Seconds(),
		"p50_ms":         latencies[count/2].Seconds() * 1e3,
		"p99_ms":         latencies[count*99/100].Seconds() * 1e3,
		"client_us":      own / float64(count) * 1e6,
		"servers_us":     nodes / float64(count) * 1e6,
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		end("%v", err)
	}
}

func random(dice *rand.Rand, size int) string {
	bytes := make([]byte, size)
	dice.Read(bytes)
	return string(bytes)
}
