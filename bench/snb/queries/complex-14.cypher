// All shortest ways between two persons, by the replies of neighbours on the way to each other.
MATCH (a:Person {id: $person1Id}), (b:Person {id: $person2Id})
MATCH way = allShortestPaths((a)-[:KNOWS*]-(b))
WITH nodes(way) AS people
UNWIND range(0, size(people) - 2) AS i
WITH people, people[i] AS x, people[i + 1] AS y
WITH people,
     size([(x)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Post)-[:HAS_CREATOR]->(y) | 1])
     + size([(y)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Post)-[:HAS_CREATOR]->(x) | 1]) AS posts,
     size([(x)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Comment)-[:HAS_CREATOR]->(y) | 1])
     + size([(y)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Comment)-[:HAS_CREATOR]->(x) | 1]) AS comments
WITH people, sum(posts + 0.5 * comments) AS pathWeight
RETURN [person IN people | person.id] AS personIdsInPath, pathWeight
ORDER BY pathWeight DESC, personIdsInPath
