// Faults, one promise each, and the check and the sentence that must notice.

import type { Answered, Asked, Fault } from './broken-service.ts'

/** What is broken, the check that notices, the beginning of its sentence, and the fault, made anew. */
type FaultCase = readonly [fault: string, check: string, sentence: string, make: () => Fault]

type Body = Record<string, unknown>

const isTo = ({ url }: Asked, action: string): boolean => url.pathname.endsWith(`/${action}`)

const parsed = (text: string): Body => (text === '' ? {} : JSON.parse(text))

const ok = (body: object): Answered => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  text: JSON.stringify(body),
})

/** Changes what is sent to an action. */
const asking = (action: string, change: (asked: Asked) => Asked) => (): Fault => (asked, pass) =>
  pass(isTo(asked, action) ? change(asked) : asked)

const sending = (action: string, change: (body: Body) => Body) =>
  asking(action, (asked) =>
    asked.body === '' ? asked : { ...asked, body: JSON.stringify(change(parsed(asked.body))) },
  )

const withQuery = (asked: Asked, change: (query: URLSearchParams) => void): Asked => {
  const url = new URL(asked.url)
  change(url.searchParams)
  return { ...asked, url }
}

const without = (asked: Asked, header: string): Asked => {
  const { [header]: _, ...headers } = asked.headers
  return { ...asked, headers }
}

/** Changes what an action answers. */
const answering =
  (change: (answer: Answered, asked: Asked) => Answered) => (): Fault => async (asked, pass) =>
    change(await pass(asked), asked)

const saying = (change: (body: Body, asked: Asked) => Body) =>
  answering((answer, asked) => ({
    ...answer,
    text: JSON.stringify(change(parsed(answer.text), asked)),
  }))

/** Answers as if it had done it, and does nothing. */
const pretending =
  (action: string, body: (asked: Asked) => object) => (): Fault => async (asked, pass) =>
    isTo(asked, action) ? ok(body(asked)) : pass(asked)

const swapped = (list: unknown): unknown =>
  Array.isArray(list) && list.length > 1 ? [list[1], list[0], ...list.slice(2)] : list

export const swapsTwo = answering((answer, asked) => {
  if (!isTo(asked, 'pop')) return answer
  const { items, details, ...body } = parsed(answer.text)
  return {
    ...answer,
    text: JSON.stringify({ items: swapped(items), details: swapped(details), ...body }),
  }
})

/** A queue's second pop that has items is given those of the first one. */
const popsTwice = (): Fault => {
  const firsts = new Map<string, Answered>()
  const doubled = new Set<string>()
  return async (asked, pass) => {
    const answer = await pass(asked)
    const hasItems = answer.status === 200 && Number(parsed(answer.text).count) > 0
    const { pathname } = asked.url
    if (!isTo(asked, 'pop') || !hasItems || doubled.has(pathname)) return answer
    const first = firsts.get(pathname)
    if (first === undefined) firsts.set(pathname, answer)
    else doubled.add(pathname)
    return first ?? answer
  }
}

/** Of a list of pushed items the second one is lost, and said to be there. */
const losesOne = (): Fault => async (asked, pass) => {
  const { items } = isTo(asked, 'push') ? parsed(asked.body) : {}
  if (!Array.isArray(items) || items.length < 3) return pass(asked)
  const answer = await pass({ ...asked, body: JSON.stringify({ items: items.toSpliced(1, 1) }) })
  return { ...answer, text: JSON.stringify({ ...parsed(answer.text), items_pushed: items.length }) }
}

const withoutField = ({ field: _, ...body }: Body): Body => body

export const faults: readonly FaultCase[] = [
  ['swaps two items of a pop', 'order', 'Items of one bulk push', swapsTwo],
  ['swaps two items of a pop', 'long-queue', '600 items', swapsTwo],
  ['loses an item of a bulk push', 'order', 'Items of one bulk push', losesOne],
  [
    'knows no priorities',
    'order',
    'A better priority that comes late',
    asking('push', ({ body, ...asked }) => {
      return { ...asked, body: body.replaceAll(/"priority":\d+/g, '"priority":5') }
    }),
  ],
  [
    'parses items and writes them anew',
    'text',
    'Numbers keep their spelling',
    saying((body) => body),
  ],
  [
    'lets an exclusive pop pass by a lock',
    'locks',
    'Another pop is refused',
    asking('pop', (asked) =>
      withQuery(asked, (query) => query.set('allow_competing_consumers', 'true')),
    ),
  ],
  [
    'says nothing of when a lock ends',
    'locks',
    'Another pop is refused',
    answering(({ headers: { 'retry-after': _, ...headers }, ...answer }) => ({
      ...answer,
      headers,
    })),
  ],
  [
    'extends no lock',
    'locks',
    'A lock that is extended',
    pretending('extend-lock', ({ body }) => ({
      success: true,
      lock_expires_at: Date.now() / 1_000 + 60,
      ...parsed(body),
    })),
  ],
  [
    'releases nothing',
    'locks',
    'Released items',
    pretending('release', () => ({ success: true, items_released: 2 })),
  ],
  ['gives items to two consumers', 'competing', 'Locks that are taken at the same time', popsTwice],
  [
    'drops acknowledgements',
    'acknowledge',
    'An acknowledged item does not',
    pretending('acknowledge', () => ({ success: true, items_acknowledged: 2 })),
  ],
  [
    'drops the acknowledgement of a pop',
    'acknowledge',
    'The next pop acknowledges',
    asking('pop', (asked) => withQuery(asked, (query) => query.delete('acknowledge'))),
  ],
  [
    'loses the reasons of dead letters',
    'dead-letters',
    'A call moves some items',
    sending('dead-letter', ({ reason: _, ...body }) => body),
  ],
  [
    'redrives nothing',
    'dead-letters',
    'A redrive puts them back',
    pretending('redrive', () => ({ success: true, items_redriven: 1, items_left: 3 })),
  ],
  [
    'knows no idempotency keys',
    'idempotency',
    'A push that is repeated',
    asking('push', (asked) => without(asked, 'idempotency-key')),
  ],
  ['delivers a pop twice', 'concurrency', 'Many producers and competing consumers', popsTwice],
  [
    'loses an item in a while',
    'concurrency',
    'Many queues at once',
    () => {
      let pushes = 0
      return (asked, pass) => {
        if (!isTo(asked, 'push')) return pass(asked)
        pushes += 1
        return pushes % 20 === 0
          ? Promise.resolve(ok({ items_pushed: 2, ids: ['a', 'b'] }))
          : pass(asked)
      }
    },
  ],
  [
    'forgets the first that the inbox accepts',
    'inbox',
    'What was accepted',
    () => {
      let pushes = 0
      return (asked, pass) => {
        if (!isTo(asked, 'push') || pushes++ > 0) return pass(asked)
        const body = JSON.stringify({ success: true, accepted: 1, message_id: 'm' })
        return Promise.resolve({ ...ok({}), status: 202, text: body })
      }
    },
  ],
  [
    'applies what the inbox has twice',
    'inbox',
    'A push that is repeated with its key',
    asking('push', (asked) => without(asked, 'idempotency-key')),
  ],
  [
    'answers 200 for a full queue',
    'bounds',
    'A full queue refuses',
    answering((answer) =>
      parsed(answer.text).error_code === 'QUEUE_FULL'
        ? ok({ items_pushed: 1, ids: ['a'] })
        : answer,
    ),
  ],
  ['names no field', 'input', 'A priority below 0', saying(withoutField)],
  [
    'leaves unknown addresses to the gateway',
    'input',
    'An address that is none',
    answering((answer) =>
      answer.status === 404 ? { ...answer, text: '{"message":"Not Found"}' } : answer,
    ),
  ],
  [
    'changes settings at any revision',
    'configuration',
    'A change at another revision',
    asking('config', (asked) => without(asked, 'if-match')),
  ],
  [
    'keeps to no push_limit',
    'queue-limits',
    'A push beyond push_limit',
    sending('config', ({ push_limit: _, ...body }) => body),
  ],
  [
    'lets everybody go',
    'rate-limits',
    'Two calls may go',
    () => (asked, pass) => {
      if (asked.method !== 'POST' || !asked.url.pathname.startsWith('/rate/')) return pass(asked)
      return pass(withQuery(asked, (query) => query.delete('maxRequests')))
    },
  ],
  ['purges all priorities', 'purge', 'The items of one priority', sending('purge', () => ({}))],
  [
    'begins anew with each cursor',
    'looking',
    'A browse shows all items',
    asking('items', (asked) => withQuery(asked, (query) => query.delete('cursor'))),
  ],
  [
    'lists all queues, whatever the prefix',
    'looking',
    'A queue that nobody has used',
    asking('queues', (asked) => withQuery(asked, (query) => query.delete('prefix'))),
  ],
]
