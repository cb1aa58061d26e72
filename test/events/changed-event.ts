// Events that differ from a file in events/ by what they are about.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import type { DynamoDBStreamEvent } from 'aws-lambda'
import { streamRecord } from '../lambdas/background/announcements/stream-record.ts'

export const folder = join(import.meta.dirname, '../../events')

// biome-ignore lint/suspicious/noExplicitAny: an event is taken apart here, and goes to a function as it is.
type Event = any

export const eventOf = (name: string): Event =>
  JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'))

export type RequestChange = {
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: string
  /** Instead of the queue's id or the limit's key. */
  readonly id?: string
  /** A path that no route has. */
  readonly path?: string
  /** When the gateway got it. */
  readonly timeEpoch?: number
}

/** The same request, as the gateway would hand over this one. */
export function changedRequest(name: string, change: RequestChange): Event {
  const event = eventOf(name)
  const { body, headers, query, id, path, timeEpoch } = change
  if (body !== undefined) Object.assign(event, { body })
  if (body !== undefined) event.headers['content-length'] = String(body.length)
  Object.assign(event.headers, headers)
  if (query !== undefined) {
    event.rawQueryString = query
    event.queryStringParameters = Object.fromEntries(new URLSearchParams(query))
  }
  const setPath = (to: string) => {
    event.rawPath = to
    event.requestContext.http.path = to
  }
  if (id !== undefined) {
    const [variable = ''] = Object.keys(event.pathParameters)
    setPath(event.rawPath.replace(event.pathParameters[variable], encodeURI(id)))
    event.pathParameters[variable] = id
  }
  if (path !== undefined) {
    setPath(path)
    event.routeKey = '$default'
  }
  if (timeEpoch !== undefined) event.requestContext.timeEpoch = timeEpoch
  return event
}

type Row = Readonly<Record<string, unknown>>

/** A write to a queue's record, or another row: what changed in what `announce.json` tells of. */
export type WriteChange = { readonly before: Row | undefined; readonly after: Row | undefined }

/** The rows of `announce.json`: a push of two items to an empty queue. */
const [written] = (eventOf('announce') as DynamoDBStreamEvent).Records
export const emptied: Row = unmarshall(written?.dynamodb?.OldImage as never)
export const pushed: Row = unmarshall(written?.dynamodb?.NewImage as never)

/** These writes as the table's stream gives them, numbered from 1. */
export const streamEvent = (writes: readonly WriteChange[]): DynamoDBStreamEvent => ({
  Records: writes.map(({ before, after }, index) =>
    streamRecord(index + 1, before, after, Date.UTC(2026, 1, 28)),
  ),
})
