package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// heapGrowth is how many percent of what is in use the heap may grow by before it is collected. What a desk holds
// is small, so Go's own 100 has it collected dozens of times a second under load, a sixth of the processor's time.
const heapGrowth = 400

// collectLess sets heapGrowth, unless the operator set GOGC.
func collectLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}

const (
	quietTime   = 20 * time.Second
	quietBytes  = 128 << 20 // less than this allocated in quietTime is quiet; a thousand open pages alone take 30 MB
	worthReturn = 16 << 20  // allocated since memory was given back last
)

// returnMemory gives memory back to the system when it gets quiet after work, until ctx ends. By itself the
// collector keeps what the busiest minute took.
func returnMemory(ctx context.Context) {
	tick := time.NewTicker(quietTime)
	defer tick.Stop()
	allocated := func() uint64 {
		sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	last, returned := uint64(0), uint64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := allocated()
		if now-last < quietBytes && now-returned > worthReturn {
			runtime.GC() // what pools keep is let go by the second collection only
			debug.FreeOSMemory()
			returned = now
		}
		last = now
	}
}
