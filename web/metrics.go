package web

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/apdesk/apdesk/models"
)

// metrics are what operators watch. No label names a workspace, a person or a record.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	waits    *prometheus.GaugeVec
	calls    *prometheus.CounterVec
	took     *prometheus.HistogramVec
}

func newMetrics(store *models.Store) *metrics {
	buckets := []float64{.001, .005, .025, .1, .5, 2.5, 10, 60}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apdesk_http_requests_total", Help: "Answered requests."},
			[]string{"server", "method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apdesk_http_request_seconds", Help: "Time to answer a request, waits included.",
			Buckets: buckets}, []string{"server", "method", "route"}),
		waits: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "apdesk_waits", Help: "Reads that wait for a decision right now."}, []string{"channel"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apdesk_tool_calls_total", Help: "Calls of MCP tools by how they ended: ok, input_required, or a code."},
			[]string{"tool", "outcome"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apdesk_tool_call_seconds", Help: "Time to answer a call of an MCP tool, waits included.",
			Buckets: buckets}, []string{"tool", "outcome"}),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.waits, m.calls, m.took, jobGauge{store},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) observe(server, method, route string, status int, took time.Duration) {
	m.requests.WithLabelValues(server, method, route, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(server, method, route).Observe(took.Seconds())
}

// toolCalled counts one call of an MCP tool. The outcomes are the published codes and a few words, so the
// series stay few.
func (m *metrics) toolCalled(tool, outcome string, took time.Duration) {
	m.calls.WithLabelValues(tool, outcome).Inc()
	m.took.WithLabelValues(tool, outcome).Observe(took.Seconds())
}

// waiting counts waits of a channel as they begin and end.
func (m *metrics) waiting(channel string) func(int) {
	gauge := m.waits.WithLabelValues(channel)
	return func(change int) { gauge.Add(float64(change)) }
}

func (m *metrics) handler() fiber.Handler {
	return adaptor.HTTPHandler(promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
}

// counting measures the MCP server's requests.
func (m *metrics) counting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(seen, r)
		method, route := r.Method, "/mcp"
		if method != http.MethodPost && method != http.MethodGet {
			method = "other"
		}
		if r.URL.Path != route {
			route = "other"
		}
		m.observe("agents", method, route, seen.status, time.Since(start))
	})
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets streams flush.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// jobGauge tells, when asked, how many planned jobs are past their time: more than a few means that no
// worker runs.
type jobGauge struct{ store *models.Store }

var overdueJobs = prometheus.NewDesc("apdesk_jobs_overdue", "Planned jobs that are more than a minute past their time, counted up to 1000.", nil, nil)

func (jobGauge) Describe(out chan<- *prometheus.Desc) { out <- overdueJobs }

func (g jobGauge) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	var due []models.Time
	err := g.store.View(ctx, models.Principal{}, func(tx *models.Tx) error {
		return tx.DB.Model(&models.Job{}).Where("due_at < ?", tx.Now.Add(-time.Minute)).Order("due_at").Limit(1000).Pluck("due_at", &due).Error
	})
	if err != nil {
		out <- prometheus.NewInvalidMetric(overdueJobs, err)
		return
	}
	out <- prometheus.MustNewConstMetric(overdueJobs, prometheus.GaugeValue, float64(len(due)))
}
