// Runs the scenarios with the driver for Go; ../README.md says what it reads and writes.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
)

// object is a map of JSON.
type object = map[string]any

// must returns a value that cannot fail, or ends the scenario.
func must[T any](value T, err error) T {
	check(err)
	return value
}

// check ends the scenario if there is an error.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

func code(err error) string {
	var of *neo4j.Neo4jError
	if errors.As(err, &of) {
		return of.Code
	}
	var expired *neo4j.TokenExpiredError
	if errors.As(err, &expired) {
		return expired.Code
	}
	if neo4j.IsConnectivityError(err) {
		return "ServiceUnavailable"
	}
	return fmt.Sprintf("%T: %v", err, err)
}

// attempt calls a function, whose panic is an error.
func attempt(work func() any) (value any, err error) {
	defer func() {
		if found := recover(); found != nil {
			var ok bool
			if err, ok = found.(error); !ok {
				err = fmt.Errorf("%v", found)
			}
		}
	}()
	return work(), nil
}

func main() {
	var config object
	check(json.Unmarshal(must(os.ReadFile(os.Args[1])), &config))
	for _, each := range config["scenarios"].([]any) {
		given := each.(object)
		kind := "value"
		value, err := attempt(func() any {
			s := open(config, given)
			defer s.driver.Close(s.ctx)
			if steps, ok := given["steps"].([]any); ok {
				kind = "steps"
				return s.steps(steps)
			}
			return behaviours[given["behaviour"].(string)](s)
		})
		done := object{"name": given["name"], kind: value}
		if err != nil {
			done = object{"name": given["name"], "failed": code(err)}
		}
		fmt.Println(string(must(json.Marshal(done))))
	}
}
