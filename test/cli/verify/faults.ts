// Faults, one promise each, and the check and the sentence that must notice.

import type { Answered, Asked, Fault } from './broken-service.ts'

export type FaultCase = {
  readonly fault: string
  readonly check: string
  /** The beginning of the sentence that does not hold. */
  readonly sentence: string
  /** Made anew for each run: a fault may remember. */
  readonly make: () => Fault
}

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
  {
    fault: 'swaps two items of a pop',
    check: 'order',
    sentence: 'Items of one bulk push',
    make: swapsTwo,
  },
  { fault: 'swaps two items of a pop', check: 'long-queue', sentence: '600 items', make: swapsTwo },
  {
    fault: 'loses an item of a bulk push',
    check: 'order',
    sentence: 'Items of one bulk push',
    make: losesOne,
  },
  {
    fault: 'knows no priorities',
    check: 'order',
    sentence: 'A better priority that comes late',
    make: asking('push', ({ body, ...asked }) => {
      return { ...asked, body: body.replaceAll(/"priority":\d+/g, '"priority":5') }
    }),
  },
  {
    fault: 'parses items and writes them anew',
    check: 'text',
    sentence: 'Numbers keep their spelling',
    make: saying((body) => body),
  },
  {
    fault: 'lets an exclusive pop pass by a lock',
    check: 'locks',
    sentence: 'Another pop is refused',
    make: asking('pop', (asked) =>
      withQuery(asked, (query) => query.set('allow_competing_consumers', 'true')),
    ),
  },
  {
    fault: 'says nothing of when a lock ends',
    check: 'locks',
    sentence: 'Another pop is refused',
    make: answering(({ headers: { 'retry-after': _, ...headers }, ...answer }) => ({
      ...answer,
      headers,
    })),
  },
  {
    fault: 'extends no lock',
    check: 'locks',
    sentence: 'A lock that is extended',
    make: pretending('extend-lock', ({ body }) => ({
      success: true,
      lock_expires_at: Date.now() / 1_000 + 60,
      ...parsed(body),
    })),
  },
  {
    fault: 'releases nothing',
    check: 'locks',
    sentence: 'Released items',
    make: pretending('release', () => ({ success: true, items_released: 2 })),
  },
  {
    fault: 'gives items to two consumers',
    check: 'competing',
    sentence: 'Locks that are taken at the same time',
    make: popsTwice,
  },
  {
    fault: 'drops acknowledgements',
    check: 'acknowledge',
    sentence: 'An acknowledged item does not',
    make: pretending('acknowledge', () => ({ success: true, items_acknowledged: 2 })),
  },
  {
    fault: 'drops the acknowledgement of a pop',
    check: 'acknowledge',
    sentence: 'The next pop acknowledges',
    make: asking('pop', (asked) => withQuery(asked, (query) => query.delete('acknowledge'))),
  },
  {
    fault: 'loses the reasons of dead letters',
    check: 'dead-letters',
    sentence: 'A call moves some items',
    make: sending('dead-letter', ({ reason: _, ...body }) => body),
  },
  {
    fault: 'redrives nothing',
    check: 'dead-letters',
    sentence: 'A redrive puts them back',
    make: pretending('redrive', () => ({ success: true, items_redriven: 1, items_left: 3 })),
  },
  {
    fault: 'knows no idempotency keys',
    check: 'idempotency',
    sentence: 'A push that is repeated',
    make: asking('push', (asked) => without(asked, 'idempotency-key')),
  },
  {
    fault: 'delivers a pop twice',
    check: 'concurrency',
    sentence: 'Many producers and competing consumers',
    make: popsTwice,
  },
  {
    fault: 'loses an item in a while',
    check: 'concurrency',
    sentence: 'Many queues at once',
    make: () => {
      let pushes = 0
      return (asked, pass) => {
        if (!isTo(asked, 'push')) return pass(asked)
        pushes += 1
        return pushes % 20 === 0
          ? Promise.resolve(ok({ items_pushed: 2, ids: ['a', 'b'] }))
          : pass(asked)
      }
    },
  },
  {
    fault: 'answers 200 for a full queue',
    check: 'bounds',
    sentence: 'A full queue refuses',
    make: answering((answer) =>
      parsed(answer.text).error_code === 'QUEUE_FULL'
        ? ok({ items_pushed: 1, ids: ['a'] })
        : answer,
    ),
  },
  {
    fault: 'names no field',
    check: 'input',
    sentence: 'A priority below 0',
    make: saying(withoutField),
  },
  {
    fault: 'leaves unknown addresses to the gateway',
    check: 'input',
    sentence: 'An address that is none',
    make: answering((answer) =>
      answer.status === 404 ? { ...answer, text: '{"message":"Not Found"}' } : answer,
    ),
  },
  {
    fault: 'changes settings at any revision',
    check: 'configuration',
    sentence: 'A change at another revision',
    make: asking('config', (asked) => without(asked, 'if-match')),
  },
  {
    fault: 'keeps to no push_limit',
    check: 'queue-limits',
    sentence: 'A push beyond push_limit',
    make: sending('config', ({ push_limit: _, ...body }) => body),
  },
  {
    fault: 'lets everybody go',
    check: 'rate-limits',
    sentence: 'Two calls may go',
    make: () => (asked, pass) => {
      if (asked.method !== 'POST' || !asked.url.pathname.startsWith('/rate/')) return pass(asked)
      return pass(withQuery(asked, (query) => query.delete('maxRequests')))
    },
  },
  {
    fault: 'purges all priorities',
    check: 'purge',
    sentence: 'The items of one priority',
    make: sending('purge', () => ({})),
  },
  {
    fault: 'begins anew with each cursor',
    check: 'looking',
    sentence: 'A browse shows all items',
    make: asking('items', (asked) => withQuery(asked, (query) => query.delete('cursor'))),
  },
  {
    fault: 'lists all queues, whatever the prefix',
    check: 'looking',
    sentence: 'A queue that nobody has used',
    make: asking('queues', (asked) => withQuery(asked, (query) => query.delete('prefix'))),
  },
]
