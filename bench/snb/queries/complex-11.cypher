// Friends, and friends of friends, who began to work in a country before a year.
MATCH (p:Person {id: $personId})-[:KNOWS*1..2]-(f:Person)
WHERE f <> p
WITH DISTINCT f
MATCH (f)-[w:WORK_AT]->(c:Company)-[:IS_LOCATED_IN]->(:Country {name: $countryName})
WHERE w.workFrom < $workFromYear
RETURN f.id AS personId, f.firstName AS firstName, f.lastName AS lastName, c.name AS company,
       w.workFrom AS workFrom
ORDER BY workFrom, personId, company DESC
LIMIT 10
