// A receipt handle: of one delivery of one message of one queue.

import { SqsError } from './sqs-error.ts'

export type Random = () => number

/** `c29tZSBxdWV1ZQ…`: the queue, the message, a number that nobody can guess. */
export const newHandle = (queue: string, messageId: string, random: Random): string =>
  Buffer.from(`${queue}|${messageId}|${newId(random)}`).toString('base64')

/** The message's id; throws if this is no handle of the queue. */
export function messageOf(handle: string, queue: string): string {
  const [name, id, secret, ...more] = Buffer.from(handle, 'base64').toString('utf8').split('|')
  if (name === queue && id && secret && more.length === 0) return id
  throw new SqsError(
    'ReceiptHandleIsInvalid',
    `The input receipt handle "${handle}" is not a valid receipt handle.`,
  )
}

/** In the form of a UUID. */
export function newId(random: Random): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join('')
  const part = (from: number, to: number) => hex.slice(from, to)
  return `${part(0, 8)}-${part(8, 12)}-4${part(13, 16)}-a${part(17, 20)}-${part(20, 32)}`
}
