package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
	"github.com/neo4j/neo4j-go-driver/v5/neo4j/config"
)

// behaviours are scenarios that are calls of the driver, by their names.
var behaviours = map[string]func(*scenario) any{
	"element_ids":      (*scenario).elementIds,
	"streamed":         (*scenario).streamed,
	"left_early":       (*scenario).leftEarly,
	"by_turns":         (*scenario).byTurns,
	"failing_function": (*scenario).failingFunction,
	"conflict":         (*scenario).conflict,
	"counters":         (*scenario).counters,
	"bookmarks":        (*scenario).bookmarks,
	"wrong_bookmark":   (*scenario).wrongBookmark,
	"server_info":      (*scenario).serverInfo,
	"many_sessions":    (*scenario).manySessions,
	"liveness":         (*scenario).liveness,
	"cancelled":        (*scenario).cancelled,
	"session_user":     (*scenario).sessionUser,

	"routed":               (*scenario).routed,
	"bookmarks_everywhere": (*scenario).bookmarksEverywhere,
	"leader_lost":          (*scenario).leaderLost,
}

func (s *scenario) ask(driver neo4j.DriverWithContext, text string, given object) any {
	found := must(neo4j.ExecuteQuery(s.ctx, driver, text, given, neo4j.EagerResultTransformer))
	return found.Records[0].Values[0]
}

func (s *scenario) one(text string) any {
	return s.ask(s.driver, text, nil)
}

func (s *scenario) session(options neo4j.SessionConfig) (neo4j.SessionWithContext, func()) {
	session := s.driver.NewSession(s.ctx, options)
	return session, func() { session.Close(s.ctx) }
}

// single returns the first value of the only row of a statement.
func (s *scenario) single(tx neo4j.ManagedTransaction, text string, given object) (int64, error) {
	result, err := tx.Run(s.ctx, text, given)
	if err != nil {
		return 0, err
	}
	record, err := result.Single(s.ctx)
	if err != nil {
		return 0, err
	}
	return record.Values[0].(int64), nil
}

// change runs a statement without rows.
func (s *scenario) change(tx neo4j.ManagedTransaction, text string, given object) error {
	result, err := tx.Run(s.ctx, text, given)
	if err != nil {
		return err
	}
	_, err = result.Consume(s.ctx)
	return err
}

func (s *scenario) elementIds() any {
	node := s.one("CREATE (n:Element) RETURN n").(neo4j.Node)
	text := "MATCH (n) WHERE elementId(n) = $id RETURN count(n)"
	return s.ask(s.driver, text, object{"id": node.ElementId})
}

func (s *scenario) streamed() any {
	session, end := s.session(neo4j.SessionConfig{FetchSize: int(s.arguments["fetch"].(float64))})
	defer end()
	result := must(session.Run(s.ctx, s.arguments["cypher"].(string), nil))
	count, total := int64(0), int64(0)
	for result.Next(s.ctx) {
		count++
		total += result.Record().Values[0].(int64)
	}
	check(result.Err())
	return []int64{count, total}
}

func (s *scenario) leftEarly() any {
	session, end := s.session(neo4j.SessionConfig{FetchSize: 10})
	defer end()
	result := must(session.Run(s.ctx, s.arguments["cypher"].(string), nil))
	total := int64(0)
	for i := 0; i < 20 && result.Next(s.ctx); i++ {
		total += result.Record().Values[0].(int64)
	}
	must(result.Consume(s.ctx))
	again := must(must(session.Run(s.ctx, "RETURN 1", nil)).Single(s.ctx))
	return []any{total, again.Values[0]}
}

func (s *scenario) byTurns() any {
	session, end := s.session(neo4j.SessionConfig{FetchSize: 10})
	defer end()
	tx := must(session.BeginTransaction(s.ctx))
	text := "UNWIND range(1, 1000) AS i RETURN i"
	results := []neo4j.ResultWithContext{must(tx.Run(s.ctx, text, nil)), must(tx.Run(s.ctx, text, nil))}
	sums := make([]int64, 2)
	for i := 0; i < 1000; i++ {
		for at, result := range results {
			if !result.Next(s.ctx) {
				panic(result.Err())
			}
			sums[at] += result.Record().Values[0].(int64)
		}
	}
	check(tx.Commit(s.ctx))
	return sums
}

func (s *scenario) failingFunction() any {
	session, end := s.session(neo4j.SessionConfig{})
	defer end()
	tries := 0
	failed := errors.New("of the program")
	_, err := session.ExecuteWrite(s.ctx, func(tx neo4j.ManagedTransaction) (any, error) {
		tries++
		check(s.change(tx, "CREATE (:Failing)", nil))
		return nil, failed
	})
	if !errors.Is(err, failed) {
		check(err)
	}
	return []any{tries, s.one("MATCH (n:Failing) RETURN count(n)")}
}

func (s *scenario) conflict() any {
	s.one("CREATE (n:Conflict {n: 0}) RETURN 1")
	session, end := s.session(neo4j.SessionConfig{})
	defer end()
	tries := 0
	must(session.ExecuteWrite(s.ctx, func(tx neo4j.ManagedTransaction) (any, error) {
		tries++
		n, err := s.single(tx, "MATCH (c:Conflict) RETURN c.n", nil)
		if err != nil {
			return nil, err
		}
		if tries == 1 {
			s.one("MATCH (c:Conflict) SET c.n = 10 RETURN 1")
		}
		return nil, s.change(tx, "MATCH (c:Conflict) SET c.n = $n", object{"n": n + 1})
	}))
	return []any{tries, s.one("MATCH (c:Conflict) RETURN c.n")}
}

// atOnce calls a function in goroutines, and returns the first error.
func atOnce(count int, work func(number int) error) {
	var all sync.WaitGroup
	failed := make([]error, count)
	for i := 0; i < count; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			failed[i] = work(i)
		}()
	}
	all.Wait()
	check(errors.Join(failed...))
}

func (s *scenario) counters() any {
	s.one("CREATE (n:Counter {n: 0}) RETURN 1")
	add := func(tx neo4j.ManagedTransaction) (any, error) {
		// A server with locks takes one here.
		n, err := s.single(tx, "MATCH (c:Counter) SET c.held = true RETURN c.n", nil)
		if err != nil {
			return nil, err
		}
		return nil, s.change(tx, "MATCH (c:Counter) SET c.n = $n", object{"n": n + 1})
	}
	atOnce(4, func(int) error {
		session, end := s.session(neo4j.SessionConfig{})
		defer end()
		for i := 0; i < 5; i++ {
			if _, err := session.ExecuteWrite(s.ctx, add); err != nil {
				return err
			}
		}
		return nil
	})
	return s.one("MATCH (c:Counter) RETURN c.n")
}

func (s *scenario) bookmarks() any {
	session, end := s.session(neo4j.SessionConfig{})
	defer end()
	must(session.ExecuteWrite(s.ctx, func(tx neo4j.ManagedTransaction) (any, error) {
		return nil, s.change(tx, "CREATE (:Marked)", nil)
	}))
	marks := session.LastBookmarks()
	next, endNext := s.session(neo4j.SessionConfig{Bookmarks: marks})
	defer endNext()
	count := must(next.ExecuteRead(s.ctx, func(tx neo4j.ManagedTransaction) (any, error) {
		return s.single(tx, "MATCH (n:Marked) RETURN count(n)", nil)
	}))
	return []any{len(marks) == 1, count}
}

func (s *scenario) wrongBookmark() any {
	session, end := s.session(neo4j.SessionConfig{Bookmarks: neo4j.BookmarksFromRawValues("no bookmark of this graph")})
	defer end()
	result, err := session.Run(s.ctx, "RETURN 1", nil)
	if err == nil {
		_, err = result.Consume(s.ctx)
	}
	if err == nil {
		return "accepted"
	}
	return code(err)
}

func (s *scenario) serverInfo() any {
	info := must(s.driver.GetServerInfo(s.ctx))
	return strings.Split(info.Agent(), "/")[0]
}

func (s *scenario) manySessions() any {
	found := make([]int64, 16)
	atOnce(16, func(number int) error {
		session, end := s.session(neo4j.SessionConfig{})
		defer end()
		result, err := session.Run(s.ctx, "RETURN $x", object{"x": number + 1})
		if err != nil {
			return err
		}
		record, err := result.Single(s.ctx)
		if err == nil {
			found[number] = record.Values[0].(int64)
		}
		return err
	})
	total := int64(0)
	for _, number := range found {
		total += number
	}
	return total
}

func (s *scenario) liveness() any {
	other := s.connect(func(c *config.Config) { c.ConnectionLivenessCheckTimeout = 0 })
	defer other.Close(s.ctx)
	return []any{s.ask(other, "RETURN 1", nil), s.ask(other, "RETURN 1", nil)}
}

func (s *scenario) cancelled() any {
	limited, cancel := context.WithTimeout(s.ctx, 300*time.Millisecond)
	defer cancel()
	session, end := s.session(neo4j.SessionConfig{})
	defer end()
	result, err := session.Run(limited, s.arguments["cypher"].(string), nil)
	if err == nil {
		_, err = result.Consume(limited)
	}
	return []any{err != nil && limited.Err() != nil, s.one("RETURN 1")}
}

func (s *scenario) sessionUser() any {
	reader := s.auth(object{"user": "reader"})
	session, end := s.session(neo4j.SessionConfig{Auth: &reader})
	defer end()
	result, err := session.Run(s.ctx, "CREATE (:Secret)", nil)
	if err == nil {
		_, err = result.Consume(s.ctx)
	}
	first := "written"
	if err != nil {
		first = "refused"
	}
	return []any{first, s.one("CREATE (n:Secret) RETURN 1")}
}

// changed makes a change, and returns the address of the server that has made it.
func (s *scenario) changed(text string, given object) (string, neo4j.Bookmarks) {
	session, end := s.session(neo4j.SessionConfig{})
	defer end()
	address := must(session.ExecuteWrite(s.ctx, func(tx neo4j.ManagedTransaction) (any, error) {
		result, err := tx.Run(s.ctx, text, given)
		if err != nil {
			return nil, err
		}
		summary, err := result.Consume(s.ctx)
		if err != nil {
			return nil, err
		}
		return summary.Server().Address(), nil
	}))
	return address.(string), session.LastBookmarks()
}

func (s *scenario) routed() any {
	address, _ := s.changed("CREATE (:Led)", nil)
	return address == s.config["leader"]
}

func (s *scenario) bookmarksEverywhere() any {
	_, marks := s.changed("CREATE (:Everywhere)", nil)
	counts := []any{}
	for _, address := range s.config["servers"].([]any) {
		other := must(neo4j.NewDriverWithContext("bolt://"+address.(string), neo4j.NoAuth()))
		defer other.Close(s.ctx)
		session := other.NewSession(s.ctx, neo4j.SessionConfig{Bookmarks: marks})
		defer session.Close(s.ctx)
		counts = append(counts, must(session.ExecuteRead(s.ctx, func(tx neo4j.ManagedTransaction) (any, error) {
			return s.single(tx, "MATCH (n:Everywhere) RETURN count(n)", nil)
		})))
	}
	return counts
}

func (s *scenario) leaderLost() any {
	until := time.Now().Add(time.Duration(s.arguments["seconds"].(float64)) * time.Second)
	count, lost := int64(0), 0.0
	for time.Now().Before(until) {
		_, err := attempt(func() any {
			s.changed("MERGE (:Lasting {i: $i})", object{"i": count})
			return nil
		})
		if err == nil {
			count++
		} else if lost++; lost > s.arguments["kills"].(float64) || !neo4j.IsConnectivityError(err) {
			// The driver does not repeat a commit of which it does not know the outcome.
			panic(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return []any{count > 50, count - s.one("MATCH (n:Lasting) RETURN count(n)").(int64)}
}
