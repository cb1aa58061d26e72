import { accepts, conformance, ends, refuses, tampering } from './conformance.ts'
import { name, x } from './expression.ts'
import { type Attributes, type Place, text } from './place.ts'

/** Requests that DynamoDB refuses before it does anything. */

const clientRefuses = ends('Error')
const findsNoTable = ends('ResourceNotFoundException')
const elsewhere = { TableName: 'missing-table' }

const keyBytes = (place: Place) => 2 + place.pk.length + 2 + 'row'.length

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])

/** `n = :n AND n = :n AND …`: each comparison and each AND is an operator. */
const comparisons = (count: number) =>
  Array.from({ length: count }, (_, i) => `n${i} <> :n`).join(' AND ')

const put =
  (...input: Parameters<Place['put']>) =>
  (place: Place) =>
    place.put(...input)

const update =
  (...input: Parameters<Place['update']>) =>
  (place: Place) =>
    place.update(...input)

const unused = { ExpressionAttributeValues: { ':unused': 1 } }

const condition = (expression: string, values: Attributes = { ':n': 1 }) =>
  put({}, { ConditionExpression: expression, ExpressionAttributeValues: values })

conformance(
  'limits',
  [
    // Items
    accepts('An item may have 400 KB.', (place) =>
      place.put({ a: text(400 * 1024 - keyBytes(place) - 1) }),
    ),
    refuses('An item may not have one byte more.', (place) =>
      place.put({ a: text(400 * 1024 - keyBytes(place)) }),
    ),
    refuses('An update may not make an item grow over 400 KB.', async (place) => {
      await place.put({ a: text(300 * 1024) })
      return place.update({ UpdateExpression: x`SET b = ${text(100 * 1024)}` })
    }),
    accepts('Values may be nested 31 deep.', put({ a: nested(31) })),
    refuses('Values may not be nested 32 deep.', put({ a: nested(32) })),
    accepts('An undefined attribute is left out by the client.', put({ a: undefined })),
    clientRefuses(
      'An undefined value further down is refused by the client.',
      put({ a: [undefined] }),
    ),
    clientRefuses(
      'A number beyond the safe integers is refused by the client.',
      put({ a: 2 ** 53 }),
    ),
    clientRefuses('Not a number is refused by the client.', put({ a: Number.NaN })),
    refuses('A number too small to store is refused.', put({ a: 1e-140 })),

    // Keys
    accepts('A partition key may have 2,048 bytes.', (place) =>
      place.read('row', { Key: { pk: text(2048), sk: 'a' } }),
    ),
    refuses('A partition key may not have 2,049 bytes.', put({ pk: text(2049), sk: 'a' })),
    accepts('A sort key may have 1,024 bytes.', put({ sk: text(1024) })),
    refuses('A sort key may not have 1,025 bytes.', put({ sk: text(1025) })),
    refuses('A sort key is measured in bytes.', put({ sk: 'ü'.repeat(513) })),
    refuses('An empty partition key is refused.', put({ pk: '', sk: 'a' })),
    refuses('An empty sort key is refused.', put({ sk: '' })),
    refuses('An empty key is refused by a read.', (place) => place.get('')),
    refuses('An empty key is refused by an update.', (place) =>
      place.update({ Key: place.key('') }),
    ),
    accepts('A key of an index may have as many bytes as a key of that kind.', (place) =>
      place.put({ pk: place.partitionOf(1024), shard: place.shard }),
    ),
    refuses(
      'A sort key of an index may not have 1,025 bytes.',
      (place) => place.put({ pk: place.partitionOf(1025), shard: place.shard }),
      { embedded: 'dynoxide does not measure the keys of an index' },
    ),
    refuses(
      'An update may not bring a key that is too long into an index.',
      async (place) => {
        const Key = { pk: place.partitionOf(1025), sk: 'row' }
        return place.update({ Key, UpdateExpression: x`SET ${name('shard')} = ${place.shard}` })
      },
      { embedded: 'dynoxide does not measure the keys of an index' },
    ),
    accepts('A key that is too long for an index is none in a row outside it.', (place) =>
      place.put({ pk: place.partitionOf(1025) }),
    ),
    refuses('An attribute without a name is refused.', put({ '': 1 }), {
      embedded: 'dynoxide stores it',
    }),
    refuses('An item without its sort key is refused.', put({ sk: undefined })),
    refuses('A number as a key is refused.', put({ sk: 5 })),
    refuses('A read by half a key is refused.', (place) =>
      place.read('row', { Key: { pk: place.pk } }),
    ),
    refuses('A read by more than a key is refused.', (place) =>
      place.read('row', { Key: { ...place.key(), more: 1 } }),
    ),
    refuses('A delete by a key of the wrong type is refused.', (place) =>
      place.delete({ Key: { pk: place.pk, sk: 1 } }),
    ),
    refuses('A put of an index key of the wrong type is refused.', put({ checkAt: 'soon' })),
    refuses(
      'An update of an index key to the wrong type is refused.',
      update({ UpdateExpression: x`SET checkAt = ${'soon'}` }),
    ),

    // Expressions
    accepts('An expression may have 4 KB.', condition(`n <> :n${' '.repeat(4096 - 7)}`)),
    refuses(
      'An expression may not have more than 4 KB.',
      condition(`n <> :n${' '.repeat(4097 - 7)}`),
    ),
    accepts(
      'A condition of 150 comparisons has 299 operators, which is allowed.',
      condition(comparisons(150)),
    ),
    refuses(
      'A condition of 151 comparisons has 301 operators, which is refused.',
      condition(comparisons(151)),
      { embedded: 'dynoxide does not count the operators of a condition' },
    ),
    refuses(
      'An update may not have more than 300 operators.',
      update({
        UpdateExpression: `SET ${Array.from({ length: 301 }, (_, i) => `a${i} = :n + :n`).join(',')}`,
        ExpressionAttributeValues: { ':n': 1 },
      }),
    ),
    refuses('An empty expression is refused.', condition('', { ':n': 1 })),
    refuses('An expression that breaks off is refused.', condition('n <> :n AND')),
    refuses('An expression with a stray character is refused.', condition('n <> :n;')),
    refuses('A condition cannot calculate.', condition('n <> :n + :n')),
    refuses(
      'A literal number in a condition is refused.',
      put({}, { ConditionExpression: 'n <> 5' }),
    ),
    refuses('A reserved word as a name is refused.', condition('shard <> :n')),
    refuses('A reserved word in lower case inside a path is refused.', condition('m.count <> :n')),
    accepts(
      'A reserved word behind an alias is allowed.',
      put({}, { ConditionExpression: x`${name('status')} <> ${1}` }),
    ),
    refuses('A name that begins with an underscore is refused.', condition('_n <> :n'), {
      embedded: 'dynoxide takes it',
    }),
    accepts(
      'A name that begins with an underscore is allowed behind an alias.',
      put({}, { ConditionExpression: x`${name('_n')} <> ${1}` }),
    ),
    refuses(
      'An alias of an empty name is refused.',
      (place) => place.put({}, { ConditionExpression: x`${name('')} <> ${1}` }),
      { embedded: 'dynoxide takes it' },
    ),
    refuses('The size of a number that is given is refused.', condition('size(:n) < :n')),
    refuses(
      'A list_append within another is refused.',
      update({
        UpdateExpression: 'SET l = list_append(list_append(:l, :l), :l)',
        ExpressionAttributeValues: { ':l': [1] },
      }),
      { embedded: 'dynoxide appends' },
    ),
    refuses('A name that begins with a digit is refused.', condition('m.5 <> :n')),

    // Placeholders
    refuses('A value that is not used is refused.', condition('n <> :n', { ':n': 1, ':more': 2 })),
    refuses('A value that is not given is refused.', condition('n <> :n AND n <> :more')),
    refuses(
      'A name that is not used is refused.',
      update({
        UpdateExpression: 'REMOVE a',
        ExpressionAttributeNames: { '#b': 'b' },
      }),
    ),
    refuses(
      'A value that a put does not use is refused although its condition does not hold.',
      put({}, { ConditionExpression: 'attribute_exists(pk)', ...unused }),
      { embedded: 'dynoxide tries the condition first' },
    ),
    refuses(
      'A value that a delete does not use is refused although its condition does not hold.',
      (place) => place.delete({ ConditionExpression: 'attribute_exists(pk)', ...unused }),
      { embedded: 'dynoxide tries the condition first' },
    ),
    refuses(
      'A value that an update does not use is refused although its condition does not hold.',
      update({
        UpdateExpression: 'REMOVE a',
        ConditionExpression: 'attribute_exists(pk)',
        ...unused,
      }),
    ),
    refuses('A name that is not given is refused.', update({ UpdateExpression: 'REMOVE #a' })),
    refuses(
      'An empty list of values is refused.',
      update({ UpdateExpression: 'REMOVE a', ExpressionAttributeValues: {} }),
    ),
    refuses(
      'An empty list of names is refused.',
      update({ UpdateExpression: 'REMOVE a', ExpressionAttributeNames: {} }),
    ),
    refuses(
      'Values without an expression are refused.',
      put({}, { ExpressionAttributeValues: { ':n': 1 } }),
    ),
    accepts(
      'A value used by the condition alone counts as used.',
      update({ UpdateExpression: 'REMOVE a', ConditionExpression: x`n <> ${1}` }),
    ),

    // Requests
    refuses('A put cannot return what is new.', put({}, { ReturnValues: 'ALL_NEW' })),
    refuses(
      'An update in no section is refused.',
      update({ UpdateExpression: 'a = :n', ExpressionAttributeValues: { ':n': 1 } }),
    ),
    refuses('A section of nothing is refused.', update({ UpdateExpression: 'SET' })),
    findsNoTable('A missing table is not found.', (place) => place.read('row', elsewhere)),
    findsNoTable('An update of a missing table is not found.', update(elsewhere)),
    refuses('A query without a condition is refused.', (place) =>
      place.query({ KeyConditionExpression: undefined }),
    ),
  ],
  [
    {
      by: 'takes reserved words',
      network: tampering((input) => {
        if (input.ConditionExpression === 'shard <> :n') {
          input.ConditionExpression = 'thing <> :n'
        }
      }),
      noticedBy: 'A reserved word as a name is refused.',
    },
  ],
)
