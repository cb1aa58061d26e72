import { hash } from 'node:crypto'

/** 22 characters of SHA-256, over the parts and where each of them ends. */
export function hashOf(...parts: readonly string[]): string {
  const text = parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join('')
  return hash('sha256', text, 'base64url').slice(0, 22)
}
