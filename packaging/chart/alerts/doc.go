// Package alerts tests what the chart gives to Prometheus and Grafana, by Prometheus' own
// libraries: for each alert, series that must make it fire and series that must not; that
// every metric and label of a rule or a dashboard is one that Plimsoll serves; and that
// every alert has its runbook. It holds tests alone.
package alerts
