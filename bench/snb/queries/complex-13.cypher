// The number of steps between two persons, -1 if there is no way.
MATCH (a:Person {id: $person1Id}), (b:Person {id: $person2Id})
OPTIONAL MATCH way = shortestPath((a)-[:KNOWS*]-(b))
RETURN CASE WHEN way IS NULL THEN -1 ELSE length(way) END AS shortestPathLength
