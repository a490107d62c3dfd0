package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"time"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
	"github.com/neo4j/neo4j-go-driver/v5/neo4j/config"
)

// scenario is a scenario with its driver.
type scenario struct {
	ctx       context.Context
	config    object
	given     object
	arguments object
	driver    neo4j.DriverWithContext
}

// transaction is an open transaction and its session.
type transaction struct {
	neo4j.ExplicitTransaction
	session neo4j.SessionWithContext
}

func open(config, given object) *scenario {
	s := &scenario{ctx: context.Background(), config: config, given: given}
	s.arguments, _ = given["arguments"].(object)
	s.driver = s.connect()
	return s
}

func text(from object, key, otherwise string) string {
	if found, ok := from[key].(string); ok {
		return found
	}
	return otherwise
}

func (s *scenario) auth(connect object) neo4j.AuthToken {
	if token := text(connect, "token", ""); token != "" {
		return neo4j.BearerAuth(s.config["tokens"].(object)[token].(string))
	}
	if user := text(connect, "user", ""); user != "" {
		password := text(s.config["passwords"].(object), user, "")
		return neo4j.BasicAuth(user, text(connect, "password", password), "")
	}
	return neo4j.NoAuth()
}

func (s *scenario) connect(more ...func(*config.Config)) neo4j.DriverWithContext {
	connect, _ := s.given["connect"].(object)
	address := s.config[text(connect, "server", "plain")].(string)
	scheme := text(connect, "scheme", "bolt")
	if connect["trust"] == true {
		// This driver encrypts by the scheme alone.
		scheme = "bolt+s"
		authority := x509.NewCertPool()
		authority.AppendCertsFromPEM(must(os.ReadFile(s.config["authority"].(string))))
		more = append(more, func(c *config.Config) { c.TlsConfig = &tls.Config{RootCAs: authority} })
	}
	return must(neo4j.NewDriverWithContext(scheme+"://"+address, s.auth(connect), more...))
}

func (s *scenario) options() neo4j.SessionConfig {
	return neo4j.SessionConfig{DatabaseName: text(s.given, "database", "")}
}

func (s *scenario) steps(steps []any) any {
	answers := []any{}
	opened := map[string]transaction{}
	session := s.driver.NewSession(s.ctx, s.options())
	defer session.Close(s.ctx)
	for _, step := range steps {
		answer, err := attempt(func() any { return s.step(step.(object), session, opened) })
		if err != nil {
			answer = object{"error": code(err)}
		}
		answers = append(answers, answer)
	}
	for _, one := range opened {
		one.session.Close(s.ctx)
	}
	return answers
}

func (s *scenario) step(step object, session neo4j.SessionWithContext, opened map[string]transaction) any {
	terms := func(c *neo4j.TransactionConfig) {
		if timeout, ok := step["timeout"].(float64); ok {
			c.Timeout = time.Duration(timeout) * time.Millisecond
		}
		if metadata, ok := step["metadata"].(object); ok {
			c.Metadata = fromMap(metadata["map"])
		}
	}
	if name := text(step, "begin", ""); name != "" {
		other := s.driver.NewSession(s.ctx, s.options())
		opened[name] = transaction{must(other.BeginTransaction(s.ctx, terms)), other}
		return object{}
	}
	if name := text(step, "commit", ""); name != "" {
		check(opened[name].Commit(s.ctx))
		return object{}
	}
	if name := text(step, "rollback", ""); name != "" {
		check(opened[name].Rollback(s.ctx))
		return object{}
	}
	if name := text(step, "close", ""); name != "" {
		check(opened[name].Close(s.ctx))
		return object{}
	}
	statement, given := step["cypher"].(string), object{}
	if parameters, ok := step["parameters"].(object); ok {
		given = fromMap(parameters["map"])
	}
	work := func(tx neo4j.ManagedTransaction) (any, error) {
		result, err := tx.Run(s.ctx, statement, given)
		if err != nil {
			return nil, err
		}
		return s.read(result)
	}
	switch text(step, "by", "") {
	case "write":
		return must(session.ExecuteWrite(s.ctx, work))
	case "read":
		return must(session.ExecuteRead(s.ctx, work))
	case "query":
		in := neo4j.ExecuteQueryWithDatabase(text(s.given, "database", ""))
		found := must(neo4j.ExecuteQuery(s.ctx, s.driver, statement, given, neo4j.EagerResultTransformer, in))
		return answer(found.Keys, found.Records, found.Summary)
	}
	if name := text(step, "in", ""); name != "" {
		return must(s.read(must(opened[name].Run(s.ctx, statement, given))))
	}
	return must(s.read(must(session.Run(s.ctx, statement, given, terms))))
}

func (s *scenario) read(result neo4j.ResultWithContext) (any, error) {
	columns, err := result.Keys()
	if err != nil {
		return nil, err
	}
	records, err := result.Collect(s.ctx)
	if err != nil {
		return nil, err
	}
	summary, err := result.Consume(s.ctx)
	if err != nil {
		return nil, err
	}
	return answer(columns, records, summary), nil
}

func answer(columns []string, records []*neo4j.Record, summary neo4j.ResultSummary) any {
	rows := make([]any, len(records))
	for i, record := range records {
		row := make([]any, len(record.Values))
		for j, value := range record.Values {
			row[j] = toWire(value)
		}
		rows[i] = row
	}
	counters := summary.Counters()
	changed := map[string]int{
		"nodes_created":         counters.NodesCreated(),
		"nodes_deleted":         counters.NodesDeleted(),
		"relationships_created": counters.RelationshipsCreated(),
		"relationships_deleted": counters.RelationshipsDeleted(),
		"properties_set":        counters.PropertiesSet(),
		"labels_added":          counters.LabelsAdded(),
		"labels_removed":        counters.LabelsRemoved(),
	}
	for name, count := range changed {
		if count == 0 {
			delete(changed, name)
		}
	}
	if columns == nil {
		columns = []string{}
	}
	return object{
		"columns":  columns,
		"rows":     rows,
		"counters": changed,
		"type":     summary.StatementType().String(),
		"database": summary.Database().Name(),
		"plan":     summary.Plan() != nil,
	}
}
