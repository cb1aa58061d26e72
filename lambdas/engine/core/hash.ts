import { createHash } from 'node:crypto'

/** 22 characters of SHA-256, over the parts and where each of them ends. */
export function hashOf(...parts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part)
  return hash.digest('base64url').slice(0, 22)
}
