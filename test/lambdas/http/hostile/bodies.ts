import type { HttpErrorCode } from '../../../../lambdas/http/answer.ts'
import {
  type CallName,
  callNames,
  calls,
  type HostileCase,
  phrases,
  short,
  words,
  wrong,
} from './hostile-case.ts'

const withBody: readonly CallName[] = [
  'push',
  'acknowledge',
  'extendLock',
  'release',
  'deadLetter',
  'configure',
  'cancel',
  'move',
  'purge',
  'redrive',
]

const noJson = phrases(`
  { ¦ } ¦ {}{} ¦ {} x ¦ {"a"} ¦ {"a":} ¦ {"a":1,} ¦ {,"a":1} ¦ {a:1} ¦ {'a':1} ¦ {"a":1 "b":2}
  {"a":01} ¦ {"a":+1} ¦ {"a":.5} ¦ {"a":5.} ¦ {"a":1e} ¦ {"a":0x1} ¦ {"a":NaN}
  {"a":Infinity} ¦ {"a":-} ¦ {"a":True} ¦ {"a":undefined} ¦ {"a":"\u0000"} ¦ {"a":"\n"}
  {"a":"\\x41"} ¦ {"a":"\\u12"} ¦ {"a":"\\u12G4"} ¦ {"a":"\\"} ¦ {"a":"unclosed} ¦ {"a":[1,2}
  {"a":[1 2]} ¦ {"a":[,]} ¦ {"a":{]}} ¦ {/* comment */"a":1} ¦ {"a":1}// ¦ \ufeff{"a":1}
  \u00a0{"a":1} ¦ {"a"\u2003:1} ¦ {"a":1}\u0000 ¦ {"a":${'['.repeat(1_000)}
  {"a":${'{"a":'.repeat(1_000)}1
`)

const noObject = ['null', 'true', '0', '"text"', '[]', '[{"item":1}]', '1e400', '""']

const brokenBodies = withBody.flatMap((name) =>
  [...noJson, ...noObject].map((body) =>
    wrong(name, `the body ${short(body)}`, 'INVALID_JSON', { body }),
  ),
)

const twice: readonly (readonly [CallName, string])[] = [
  ['push', '{"item":1,"item":1}'],
  ['push', '{"item":1,"item":2}'],
  ['push', '{"item":1,"it\\u0065m":2}'],
  ['push', '{"item":1,"priority":1,"priority":2}'],
  ['push', '{"items":[{"item":1}],"items":[]}'],
  ['push', '{"items":[{"item":1,"item":1}]}'],
  ['push', '{"items":[{"item":1},{"priority":1,"item":1,"priority":1}]}'],
  ['push', '{"item":1,"x":1,"x":1}'],
  ['push', '{"__proto__":1,"__proto__":1}'],
  ['acknowledge', '{"lock_id":"a","lock_id":"b"}'],
  ['acknowledge', '{"lock_ids":["a"],"lock_ids":["b"]}'],
  ['release', '{"lock_id":"a","ids":["x"],"ids":["y"]}'],
  ['extendLock', '{"lock_id":"a","ttl_seconds":1,"ttl_seconds":2}'],
  ['deadLetter', '{"lock_id":"a","reason":"x","reason":"y"}'],
  ['configure', '{"capacity":1,"capacity":2}'],
  ['cancel', '{"ids":["AAAAAAAA-0-0"],"ids":[]}'],
  ['purge', '{"priority":1,"priority":1}'],
  ['redrive', '{"limit":1,"limit":1}'],
]

const unknownNames = [
  '',
  ...phrases(`
  __proto__ ¦ constructor ¦ toString ¦ hasOwnProperty ¦ Item ¦ item  ¦ éléments ¦ \u0000
  \ud83c\udf88 ¦ <script> ¦ ${'x'.repeat(10_000)}
`),
]

const unknown = withBody.flatMap((name) =>
  unknownNames.map((field) => {
    const good = 'body' in calls[name] ? (calls[name] as { body: string }).body : '{}'
    const fields = good === '{}' ? '' : `${good.slice(1, -1)},`
    const body = `{${fields}${JSON.stringify(field)}:1}`
    const names = JSON.stringify(field).slice(1, 60).replace(/"$/, '')
    return wrong(name, `the field ${short(field)}`, 'UNKNOWN_FIELD', { body, names })
  }),
)

const priorities = words(`
  -1 -0.5 0.5 1.0000001 2147483648 1e10 1e400 -1e400 9007199254740993 "1" null true [] [1] {}
  ""
`)

/** Times and expiries that are none, each with the field that its error names. */
const notTimes = [
  ['"delay_seconds":-1', 'delay_seconds'],
  ['"delay_seconds":"1"', 'delay_seconds'],
  ['"delay_seconds":157766401', 'delay_seconds'],
  ['"deliver_at":-1', 'deliver_at'],
  ['"deliver_at":9999999999', 'deliver_at'],
  ['"deliver_at":1924992000000', 'deliver_at'],
  ['"expires_in_seconds":-1', 'expires_in_seconds'],
  ['"expires_in_seconds":1.5', 'expires_in_seconds'],
  ['"expires_in_seconds":157766401', 'expires_in_seconds'],
  ['"expires_at":"2030-01-01"', 'expires_at'],
  ['"expires_at":-1', 'expires_at'],
  ['"expires_at":9999999999', 'expires_at'],
  ['"expires_at":1924992000000', 'expires_at'],
  ['"expires_in_seconds":60,"expires_at":4000000000', 'expires_at'],
] as const

const items: readonly (readonly [string, HttpErrorCode, string?])[] = [
  ['{}', 'INVALID_ITEM'],
  ['{"priority":1}', 'INVALID_ITEM'],
  ['{"items":[]}', 'INVALID_ITEM'],
  ['{"items":null}', 'INVALID_ITEM'],
  ['{"items":{}}', 'INVALID_ITEM'],
  ['{"items":"x"}', 'INVALID_ITEM'],
  ['{"items":5}', 'INVALID_ITEM'],
  ['{"items":[1]}', 'INVALID_ITEM'],
  ['{"items":[null]}', 'INVALID_ITEM'],
  ['{"items":[[]]}', 'INVALID_ITEM'],
  ['{"items":[{}]}', 'INVALID_ITEM'],
  ['{"items":[{"item":1},"x"]}', 'INVALID_ITEM'],
  ['{"items":[{"item":1},{"priority":2}]}', 'INVALID_ITEM'],
  ['{"items":[{"item":1,"priority":"2"}]}', 'INVALID_PRIORITY'],
  ['{"items":[{"item":1,"deliver_at":null}]}', 'INVALID_PARAMETER', 'items[0].deliver_at'],
  ...notTimes.map(([times, field]) => [`{"item":1,${times}}`, 'INVALID_PARAMETER', field] as const),
  [
    '{"items":[{"item":1},{"item":2,"delay_seconds":5,"deliver_at":5}]}',
    'INVALID_PARAMETER',
    'items[1].deliver_at',
  ],
  ['{"items":[{"item":1,"items":[]}]}', 'UNKNOWN_FIELD', 'items[0].items'],
  ['{"items":[{"item":1,"ttl":2}]}', 'UNKNOWN_FIELD', 'items[0].ttl'],
  ['{"items":[{"item":1},{"item":1,"item":2}]}', 'INVALID_PARAMETER', 'items[1].item'],
  ['{"item":1,"priorty":2}', 'UNKNOWN_FIELD', 'priorty'],
  ['{"items":[{"item":1}],"priority":2}', 'UNKNOWN_FIELD'],
  ['{"item":1,"items":[{"item":1}]}', 'UNKNOWN_FIELD'],
  [`{"items":[${Array(1_001).fill('{"item":1}').join(',')}]}`, 'INVALID_ITEM'],
  [`{"items":[${Array(200_000).fill('{}').join(',')}]}`, 'INVALID_ITEM'],
  [`{"item":"${'x'.repeat(262_143)}"}`, 'ITEM_TOO_LARGE'],
  [`{"item":"${'é'.repeat(131_072)}"}`, 'ITEM_TOO_LARGE'],
  [`{"item":${'9'.repeat(262_145)}}`, 'ITEM_TOO_LARGE'],
  [`{"item":${'['.repeat(131_080)}${']'.repeat(131_080)}}`, 'INVALID_JSON'],
  [`{"items":[{"item":1},{"item":"${'x'.repeat(262_143)}"}]}`, 'ITEM_TOO_LARGE'],
  [`{"item":"${'x'.repeat(2_621_440)}"}`, 'BODY_TOO_LARGE'],
  [`{"item":1}${' '.repeat(2_621_440)}`, 'BODY_TOO_LARGE'],
  ['x'.repeat(2_621_441), 'BODY_TOO_LARGE'],
]

/** What goes by the text alone may be this large; a push may be larger. */
const tooLarge = withBody
  .filter((name) => name !== 'push')
  .map((name) =>
    wrong(name, 'a body of 64 KiB and a byte', 'BODY_TOO_LARGE', {
      body: `{}${' '.repeat(65_535)}`,
    }),
  )

const types = phrases(`
  text/plain ¦ text/json ¦ application/xml ¦ application/jsonp ¦ application/vnd.api+json
  application/x-www-form-urlencoded; charset=utf-8
  multipart/form-data ¦ application/octet-stream ¦ application/json+x ¦ application/ld+json
  application/json; charset=utf-16 ¦ application/json; charset=iso-8859-1 ¦ application ¦ ,
  application/json, text/plain ¦ */*
`)

const mediaTypes = callNames.flatMap((name) =>
  types
    // Called a form, a JSON object is taken for what it is: the sources' curl line does it.
    .filter((type) => name !== 'acknowledge' || !type.includes('form-urlencoded'))
    .map((type) =>
      wrong(name, `the type ${type}`, 'UNSUPPORTED_MEDIA_TYPE', {
        body: '{"item":1}',
        headers: { 'content-type': type },
      }),
    ),
)

export const bodyCases: readonly HostileCase[] = [
  ...brokenBodies,
  ...unknown,
  ...twice.map(([name, body]) =>
    wrong(name, short(body), 'INVALID_PARAMETER', { body, names: 'twice' }),
  ),
  ...items.map(([body, code, names]) =>
    wrong('push', `the body ${short(body)}`, code, { body, names }),
  ),
  ...priorities.flatMap((value) => [
    wrong('push', `the priority ${value}`, 'INVALID_PRIORITY', {
      body: `{"item":1,"priority":${value}}`,
    }),
    wrong('push', `the priority ${value} in bulk`, 'INVALID_PRIORITY', {
      body: `{"items":[{"item":1},{"item":2,"priority":${value}}]}`,
    }),
    wrong('purge', `the priority ${value}`, 'INVALID_PRIORITY', { body: `{"priority":${value}}` }),
  ]),
  ...tooLarge,
  ...mediaTypes,
  ...withBody
    .filter((name) => name !== 'purge' && name !== 'redrive')
    .map((name) => wrong(name, 'no body', 'INVALID_JSON', { body: '' })),
  ...(['acknowledge', 'extendLock', 'release', 'deadLetter'] as const).map((name) =>
    wrong(name, 'an empty body', 'INVALID_PARAMETER', { body: '{}', names: 'lock_id' }),
  ),
  ...(['cancel', 'move', 'purge'] as const).map((name) =>
    wrong(name, 'an id that is none', 'INVALID_PARAMETER', {
      body: `{"ids":["AAAAAAAA-0-0","nonsense"]${name === 'move' ? ',"priority":1' : ''}}`,
      names: 'ids[1]',
    }),
  ),
  wrong('push', 'a body that is packed', 'UNSUPPORTED_MEDIA_TYPE', {
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
  }),
  wrong('push', 'an item in a form', 'UNSUPPORTED_MEDIA_TYPE', {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  }),
  wrong('acknowledge', 'a form', 'UNSUPPORTED_MEDIA_TYPE', {
    body: 'lock_id=AAAAAAAAAAA',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  }),
]
