// Reads the fields of a request, and the entries of a batch; refuses those of the wrong type.

import { isObject } from '../template/assembly.ts'
import type { MessageAttribute, MessageAttributes, NewMessage } from './core/message.ts'
import { missingParameter, SqsError } from './core/sqs-error.ts'

export type Input = Readonly<Record<string, unknown>>

const wrongType = (name: string, type: string): SqsError =>
  new SqsError('SerializationException', `${name} must be ${type}.`)

export function optionalText(input: Input, name: string): string | undefined {
  const value = input[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return value
  throw wrongType(name, 'text')
}

export function text(input: Input, name: string): string {
  const value = optionalText(input, name)
  if (value !== undefined) return value
  throw missingParameter(name)
}

export function optionalNumber(input: Input, name: string): number | undefined {
  const value = input[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number') return value
  throw wrongType(name, 'a number')
}

export function texts(input: Input, name: string): readonly string[] {
  const value = input[name] ?? []
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value
  throw wrongType(name, 'a list of texts')
}

export function objects(input: Input, name: string): readonly Input[] {
  const value = input[name] ?? []
  if (Array.isArray(value) && value.every(isObject)) return value
  throw wrongType(name, 'a list of objects')
}

export function object(input: Input, name: string): Input {
  const value = input[name] ?? {}
  if (isObject(value)) return value
  throw wrongType(name, 'an object')
}

export function textMap(input: Input, name: string): Readonly<Record<string, string>> {
  const map = object(input, name)
  return Object.fromEntries(Object.keys(map).map((key) => [key, text(map, key)]))
}

/** `https://…/123456789012/orders.fifo` */
export function queueName(input: Input): string {
  const url = text(input, 'QueueUrl')
  const [name] = url.split('/').slice(-1)
  if (name) return name
  throw new SqsError('QueueDoesNotExist', `The specified queue does not exist: ${url}.`)
}

export function newMessage(input: Input): NewMessage {
  const { AWSTraceHeader } = object(input, 'MessageSystemAttributes')
  return {
    body: text(input, 'MessageBody'),
    attributes: messageAttributes(input),
    traceHeader: isObject(AWSTraceHeader) ? optionalText(AWSTraceHeader, 'StringValue') : undefined,
    groupId: optionalText(input, 'MessageGroupId'),
    deduplicationId: optionalText(input, 'MessageDeduplicationId'),
    delaySeconds: optionalNumber(input, 'DelaySeconds'),
  }
}

function messageAttributes(input: Input): MessageAttributes {
  const given = object(input, 'MessageAttributes')
  return Object.fromEntries(
    Object.keys(given).map((name): [string, MessageAttribute] => {
      const one = object(given, name)
      const StringValue = optionalText(one, 'StringValue')
      const BinaryValue = optionalText(one, 'BinaryValue')
      const value = BinaryValue === undefined ? { StringValue } : { BinaryValue }
      return [name, { DataType: text(one, 'DataType'), ...value }]
    }),
  )
}

/** SQS's own. */
const ENTRIES_MAX = 10

/** Each entry by itself: one that is refused does no harm to the others. */
export function eachEntry(input: Input, act: (entry: Input) => object): Record<string, unknown> {
  const entries = objects(input, 'Entries')
  checkEntries(entries.map((entry) => text(entry, 'Id')))
  const Successful: object[] = []
  const Failed: object[] = []
  for (const entry of entries) {
    const { Id } = entry
    try {
      Successful.push({ Id, ...act(entry) })
    } catch (error) {
      if (!(error instanceof SqsError)) throw error
      Failed.push({ Id, SenderFault: true, Code: error.code, Message: error.message })
    }
  }
  return { Successful, ...(Failed.length > 0 && { Failed }) }
}

function checkEntries(ids: readonly string[]): void {
  if (ids.length === 0) {
    throw new SqsError('EmptyBatchRequest', 'There should be at least one entry in the request.')
  }
  if (ids.length > ENTRIES_MAX) {
    throw new SqsError(
      'TooManyEntriesInBatchRequest',
      `Maximum number of entries per request are ${ENTRIES_MAX}. You have sent ${ids.length}.`,
    )
  }
  if (new Set(ids).size < ids.length) {
    throw new SqsError('BatchEntryIdsNotDistinct', 'Two entries of the batch have the same id.')
  }
  if (ids.every((id) => /^[\w-]{1,80}$/.test(id))) return
  throw new SqsError(
    'InvalidBatchEntryId',
    'A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.',
  )
}
