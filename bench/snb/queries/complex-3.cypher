// Friends, and friends of friends, who wrote from two countries that are not theirs.
MATCH (p:Person {id: $personId})-[:KNOWS*1..2]-(f:Person)
WHERE f <> p
WITH DISTINCT f
MATCH (f)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(home:Country)
WHERE NOT home.name IN [$countryXName, $countryYName]
MATCH (f)<-[:HAS_CREATOR]-(m:Message)-[:IS_LOCATED_IN]->(c:Country)
WHERE c.name IN [$countryXName, $countryYName]
  AND $startDate <= m.creationDate < $startDate + $durationDays * 86400000
WITH f, sum(CASE c.name WHEN $countryXName THEN 1 ELSE 0 END) AS xCount,
     sum(CASE c.name WHEN $countryYName THEN 1 ELSE 0 END) AS yCount
WHERE xCount > 0 AND yCount > 0
RETURN f.id AS personId, f.firstName AS firstName, f.lastName AS lastName, xCount, yCount,
       xCount + yCount AS count
ORDER BY xCount DESC, personId
LIMIT 20
