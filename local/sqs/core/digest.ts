// The checksums that SQS sends back, and that the SDK compares.

import { createHash } from 'node:crypto'
import type { MessageAttribute, MessageAttributes } from './message.ts'

export const md5 = (text: string): string => createHash('md5').update(text).digest('hex')

/** The deduplication id in a queue with content-based deduplication. */
export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Names in order, and before each name, type and value its length in four bytes. */
export function md5OfAttributes(attributes: MessageAttributes): string {
  const hash = createHash('md5')
  const add = (bytes: Buffer) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    hash.update(length).update(bytes)
  }
  for (const name of Object.keys(attributes).sort(byBytes)) {
    const attribute = attributes[name] as MessageAttribute
    add(Buffer.from(name))
    add(Buffer.from(attribute.DataType))
    const { BinaryValue, StringValue = '' } = attribute
    hash.update(Buffer.from([BinaryValue === undefined ? 1 : 2]))
    add(BinaryValue === undefined ? Buffer.from(StringValue) : Buffer.from(BinaryValue, 'base64'))
  }
  return hash.digest('hex')
}

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
