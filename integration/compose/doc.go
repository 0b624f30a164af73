// Package compose runs docker-compose.yml for scenarios: it finds or starts a Docker engine, makes the images that are not
// there, and removes what a project has made.
package compose
