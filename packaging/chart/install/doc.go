// Package install proves the chart on a real control plane: Helm installs it, Plimsoll, the
// kwok controller and the controllers beside it live as processes under the service accounts
// and the arguments that it made for their pods, and what they ask of the API server is
// compared with the rights that it gives them, both ways. It holds tests alone.
package install
