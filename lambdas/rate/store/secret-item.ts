import type { Row } from '../../store/dynamo.ts'
import { secretKey } from '../core/keys.ts'

/** `s`: what tickets are signed with, bytes. */
export const encodeSecret = (secret: Uint8Array): Row => ({ ...secretKey, s: secret })

export const decodeSecret = (row: Row | undefined): Uint8Array | undefined =>
  row === undefined ? undefined : (row as { s: Uint8Array }).s
