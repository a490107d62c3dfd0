// Runs the scenarios with the driver for JavaScript; ../README.md says what it reads and writes.

import { readFileSync } from 'node:fs'
import neo4j from 'neo4j-driver'

const { types } = neo4j
const COUNTERS = [
  'nodes_created', 'nodes_deleted', 'relationships_created', 'relationships_deleted',
  'properties_set', 'labels_added', 'labels_removed'
]
const mapped = (map, change) =>
  Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value)]))

const FROM_WIRE = {
  int: text => neo4j.int(text),
  float: text => Number(text),
  bytes: text => new Int8Array(Buffer.from(text, 'hex')),
  map: items => mapped(items, fromWire),
  date: fields => new types.Date(...fields),
  localtime: fields => new types.LocalTime(...fields),
  time: fields => new types.Time(...fields),
  localdatetime: fields => new types.LocalDateTime(...fields),
  datetime: fields => typeof fields[7] === 'string'
    ? new types.DateTime(...fields.slice(0, 7), undefined, fields[7])
    : new types.DateTime(...fields),
  duration: fields => new types.Duration(...fields),
  point: fields => new types.Point(neo4j.int(fields[0]), ...fields.slice(1))
}

function fromWire (value) {
  if (Array.isArray(value)) return value.map(fromWire)
  if (value === null || typeof value !== 'object') return value
  const [kind, inner] = Object.entries(value)[0]
  return FROM_WIRE[kind](inner)
}

const numbers = (...fields) => fields.map(Number)
const date = v => numbers(v.year, v.month, v.day)
const clock = v => numbers(v.hour, v.minute, v.second, v.nanosecond)
const relationship = r => ({ type: r.type, properties: mapped(r.properties, toWire) })

function path (value) {
  const items = [toWire(value.start)]
  for (const { start, relationship: edge, end } of value.segments) {
    const direction = edge.startNodeElementId === start.elementId ? 'forward' : 'backward'
    items.push({ [direction]: relationship(edge) }, toWire(end))
  }
  return items
}

function toWire (value) {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (neo4j.isInt(value)) return { int: value.toString() }
  if (typeof value === 'number') return { float: String(value) }
  if (value instanceof Int8Array) return { bytes: Buffer.from(value.buffer, value.byteOffset, value.length).toString('hex') }
  if (Array.isArray(value)) return value.map(toWire)
  if (neo4j.isNode(value)) {
    return { node: { labels: [...value.labels].sort(), properties: mapped(value.properties, toWire) } }
  }
  if (neo4j.isRelationship(value)) return { relationship: relationship(value) }
  if (neo4j.isPath(value)) return { path: path(value) }
  if (neo4j.isDate(value)) return { date: date(value) }
  if (neo4j.isLocalTime(value)) return { localtime: clock(value) }
  if (neo4j.isTime(value)) return { time: [...clock(value), Number(value.timeZoneOffsetSeconds)] }
  if (neo4j.isLocalDateTime(value)) return { localdatetime: [...date(value), ...clock(value)] }
  if (neo4j.isDateTime(value)) {
    const zone = value.timeZoneId ?? Number(value.timeZoneOffsetSeconds)
    return { datetime: [...date(value), ...clock(value), zone] }
  }
  if (neo4j.isDuration(value)) {
    return { duration: numbers(value.months, value.days, value.seconds, value.nanoseconds) }
  }
  if (neo4j.isPoint(value)) {
    const third = value.z === undefined ? [] : [value.z]
    return { point: [Number(value.srid), value.x, value.y, ...third] }
  }
  return { map: mapped(value, toWire) }
}

const codeOf = error => error.code === 'N/A' || !error.code ? String(error) : error.code

function answer (columns, records, summary) {
  const changed = summary.counters.updates()
  const camel = name => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase())
  const counters = COUNTERS.map(name => [name, Number(changed[camel(name)])])
  return {
    columns,
    rows: records.map(record => record.keys.map(key => toWire(record.get(key)))),
    counters: Object.fromEntries(counters.filter(([, count]) => count > 0)),
    type: summary.queryType,
    database: summary.database.name,
    plan: !!summary.plan
  }
}

async function read (result) {
  const columns = await result.keys()
  const { records, summary } = await result
  return answer(columns, records, summary)
}

class Scenario {
  constructor (config, scenario) {
    Object.assign(this, { config, scenario, arguments: scenario.arguments ?? {} })
    this.options = { database: scenario.database }
    this.driver = this.connect()
  }

  auth ({ token, user, password }) {
    if (token) return neo4j.auth.bearer(this.config.tokens[token])
    if (user) return neo4j.auth.basic(user, password ?? this.config.passwords[user])
    return undefined
  }

  connect (options = {}) {
    const connect = this.scenario.connect ?? {}
    const url = `${connect.scheme ?? 'bolt'}://${this.config[connect.server ?? 'plain']}`
    if (connect.trust) {
      options.encrypted = 'ENCRYPTION_ON'
      options.trust = 'TRUST_CUSTOM_CA_SIGNED_CERTIFICATES'
      options.trustedCertificates = [this.config.authority]
    }
    return neo4j.driver(url, this.auth(connect), options)
  }

  async steps () {
    const answers = []
    const open = {}
    const session = this.driver.session(this.options)
    for (const step of this.scenario.steps) {
      answers.push(await this.step(step, session, open).catch(error => ({ error: codeOf(error) })))
    }
    await session.close()
    for (const { session } of Object.values(open)) await session.close()
    return answers
  }

  async step (step, session, open) {
    const terms = {}
    if (step.timeout) terms.timeout = step.timeout
    if (step.metadata) terms.metadata = fromWire(step.metadata)
    if (step.begin) {
      const session = this.driver.session(this.options)
      open[step.begin] = { session, transaction: await session.beginTransaction(terms) }
      return {}
    }
    for (const end of ['commit', 'rollback', 'close']) {
      if (step[end]) {
        await open[step[end]].transaction[end]()
        return {}
      }
    }
    const parameters = fromWire(step.parameters ?? { map: {} })
    const work = transaction => read(transaction.run(step.cypher, parameters))
    if (step.by === 'write') return session.executeWrite(work)
    if (step.by === 'read') return session.executeRead(work)
    if (step.by === 'query') {
      const found = await this.driver.executeQuery(step.cypher, parameters, this.options)
      return answer(found.keys, found.records, found.summary)
    }
    if (step.in) return read(open[step.in].transaction.run(step.cypher, parameters))
    return read(session.run(step.cypher, parameters, terms))
  }

  async one (text, parameters = {}, driver = this.driver) {
    const { records } = await driver.executeQuery(text, parameters)
    const value = records[0].get(0)
    return neo4j.isInt(value) ? Number(value) : value
  }

  async inSession (work, options = {}, driver = this.driver) {
    const session = driver.session(options)
    try {
      return await work(session)
    } finally {
      await session.close()
    }
  }

  async element_ids () {
    const node = await this.one('CREATE (n:Element) RETURN n')
    return this.one('MATCH (n) WHERE elementId(n) = $id RETURN count(n)', { id: node.elementId })
  }

  streamed () {
    return this.inSession(async session => {
      let [count, total] = [0, 0]
      for await (const record of session.run(this.arguments.cypher)) {
        count += 1
        total += Number(record.get(0))
      }
      return [count, total]
    }, { fetchSize: this.arguments.fetch })
  }

  left_early () {
    return this.inSession(async session => {
      let [count, total] = [0, 0]
      for await (const record of session.run(this.arguments.cypher)) {
        total += Number(record.get(0))
        if (++count === 20) break
      }
      const again = await session.run('RETURN 1')
      return [total, Number(again.records[0].get(0))]
    }, { fetchSize: 10 })
  }

  by_turns () {
    return this.inSession(async session => {
      const transaction = await session.beginTransaction()
      const text = 'UNWIND range(1, 1000) AS i RETURN i'
      const both = [0, 1].map(() => transaction.run(text)[Symbol.asyncIterator]())
      const sums = [0, 0]
      for (let i = 0; i < 1000; i++) {
        for (const [at, records] of both.entries()) {
          sums[at] += Number((await records.next()).value.get(0))
        }
      }
      await transaction.commit()
      return sums
    }, { fetchSize: 10 })
  }

  async failing_function () {
    let tries = 0
    const work = async transaction => {
      tries += 1
      await transaction.run('CREATE (:Failing)')
      throw new RangeError('of the program')
    }
    await this.inSession(session => session.executeWrite(work)).catch(error => {
      if (!(error instanceof RangeError)) throw error
    })
    return [tries, await this.one('MATCH (n:Failing) RETURN count(n)')]
  }

  async conflict () {
    await this.one('CREATE (n:Conflict {n: 0}) RETURN 1')
    let tries = 0
    await this.inSession(session => session.executeWrite(async transaction => {
      tries += 1
      const { records } = await transaction.run('MATCH (c:Conflict) RETURN c.n')
      if (tries === 1) await this.one('MATCH (c:Conflict) SET c.n = 10 RETURN 1')
      await transaction.run('MATCH (c:Conflict) SET c.n = $n', { n: records[0].get(0).add(1) })
    }))
    return [tries, await this.one('MATCH (c:Conflict) RETURN c.n')]
  }

  async counters () {
    await this.one('CREATE (n:Counter {n: 0}) RETURN 1')
    const work = async transaction => {
      // A server with locks takes one here.
      const { records } = await transaction.run('MATCH (c:Counter) SET c.held = true RETURN c.n')
      await transaction.run('MATCH (c:Counter) SET c.n = $n', { n: records[0].get(0).add(1) })
    }
    const add = session => Array(5).fill().reduce(done => done.then(() => session.executeWrite(work)), Promise.resolve())
    await Promise.all(Array(4).fill().map(() => this.inSession(add)))
    return this.one('MATCH (c:Counter) RETURN c.n')
  }

  async bookmarks () {
    const bookmarks = await this.inSession(async session => {
      await session.executeWrite(transaction => transaction.run('CREATE (:Marked)'))
      return session.lastBookmarks()
    })
    const count = await this.inSession(session => session.executeRead(async transaction => {
      const { records } = await transaction.run('MATCH (n:Marked) RETURN count(n)')
      return Number(records[0].get(0))
    }), { bookmarks })
    return [bookmarks.length === 1, count]
  }

  wrong_bookmark () {
    return this.inSession(
      session => session.run('RETURN 1').then(() => 'accepted', codeOf),
      { bookmarks: ['no bookmark of this graph'] }
    )
  }

  async server_info () {
    return (await this.driver.getServerInfo()).agent.split('/')[0]
  }

  async many_sessions () {
    const work = number => this.inSession(async session => {
      const { records } = await session.run('RETURN $x', { x: neo4j.int(number) })
      return Number(records[0].get(0))
    })
    const found = await Promise.all(Array(16).fill().map((_, i) => work(i + 1)))
    return found.reduce((a, b) => a + b)
  }

  async liveness () {
    const driver = this.connect({ connectionLivenessCheckTimeout: 0 })
    const found = [await this.one('RETURN 1', {}, driver), await this.one('RETURN 1', {}, driver)]
    await driver.close()
    return found
  }

  async cancelled () {
    const other = this.connect()
    const session = other.session()
    let runs = true
    session.run(this.arguments.cypher).catch(() => null).finally(() => { runs = false })
    await new Promise(resolve => setTimeout(resolve, 300))
    const ran = runs
    await session.close()
    await other.close()
    return [ran, await this.one('RETURN 1')]
  }

  async routed () {
    const write = await this.inSession(session => session.executeWrite(async transaction =>
      (await transaction.run('CREATE (:Led)')).summary.server.address))
    return write === this.config.leader
  }

  async bookmarks_everywhere () {
    const bookmarks = await this.inSession(async session => {
      await session.executeWrite(transaction => transaction.run('CREATE (:Everywhere)'))
      return session.lastBookmarks()
    })
    const counts = []
    for (const address of this.config.servers) {
      const driver = neo4j.driver(`bolt://${address}`)
      counts.push(await this.inSession(session => session.executeRead(async transaction => {
        const { records } = await transaction.run('MATCH (n:Everywhere) RETURN count(n)')
        return Number(records[0].get(0))
      }), { bookmarks }, driver))
      await driver.close()
    }
    return counts
  }

  async leader_lost () {
    const until = Date.now() + this.arguments.seconds * 1000
    let [count, lost] = [0, 0]
    while (Date.now() < until) {
      const number = { i: neo4j.int(count) }
      const done = this.inSession(session => session.executeWrite(
        transaction => transaction.run('MERGE (:Lasting {i: $i})', number)))
      await done.then(() => { count += 1 }, error => {
        // The driver does not repeat a commit of which it does not know the outcome.
        if (error.code !== 'ServiceUnavailable' || ++lost > this.arguments.kills) throw error
      })
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    return [count > 50, count - await this.one('MATCH (n:Lasting) RETURN count(n)')]
  }

  async session_user () {
    const auth = this.auth({ user: 'reader' })
    const first = await this.inSession(
      session => session.run('CREATE (:Secret)').then(() => 'written', () => 'refused'),
      { auth }
    )
    return [first, await this.one('CREATE (n:Secret) RETURN 1')]
  }
}

async function run (config, scenario) {
  const one = new Scenario(config, scenario)
  try {
    if (scenario.steps) return { steps: await one.steps() }
    return { value: await one[scenario.behaviour]() }
  } finally {
    await one.driver.close()
  }
}

const config = JSON.parse(readFileSync(process.argv[2]))
for (const scenario of config.scenarios) {
  const done = await run(config, scenario).catch(error => ({ failed: codeOf(error) }))
  console.log(JSON.stringify({ name: scenario.name, ...done }))
}
