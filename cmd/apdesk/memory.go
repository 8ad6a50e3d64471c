package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	quietTime   = 20 * time.Second
	quietBytes  = 32 << 20 // less than this allocated in quietTime is quiet
	worthReturn = 64 << 20 // allocated since memory was given back last
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
			debug.FreeOSMemory()
			returned = now
		}
		last = now
	}
}
