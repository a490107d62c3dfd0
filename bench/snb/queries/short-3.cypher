// Friends of a person, the newest first.
MATCH (:Person {id: $personId})-[k:KNOWS]-(f:Person)
RETURN f.id AS personId, f.firstName AS firstName, f.lastName AS lastName,
       k.creationDate AS friendshipCreationDate
ORDER BY friendshipCreationDate DESC, personId
