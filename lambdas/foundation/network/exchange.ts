// One request and its whole answer.

import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { afterReading } from './answer-timeouts.ts'
import { type SdkRequest, send } from './outgoing.ts'
import { abortError, RequestNotSentError, timeoutError } from './request-errors.ts'
import type { Sockets } from './sockets.ts'

/** What the SDK expects in return. */
export type SdkResponse = {
  readonly statusCode: number
  readonly reason: string
  readonly headers: Record<string, string>
  readonly body: Uint8Array | Readable
}

export type Bounds = {
  readonly connectTimeoutMs: number
  readonly answerTimeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/** Twice the largest possible object, a segment of 250 items of 256 KiB. */
const ANSWER_BYTES_MAX = 128 * 1024 * 1024

/**
 * Rejects with `RequestNotSentError` if no part of the request left. After any other error, the request may
 * have been carried out, or may still be. The deadline holds up to the last byte of the answer, because a
 * body can stall just like the headers.
 */
export function exchange(
  sockets: Sockets,
  request: SdkRequest,
  { connectTimeoutMs, answerTimeoutMs, signal }: Bounds,
): Promise<SdkResponse> {
  return new Promise((resolve, reject) => {
    const host = request.hostname
    const outgoing = send(sockets, request)
    let isOver = false
    let mayHaveLeft = false

    const end = () => {
      isOver = true
      clearTimeout(deadline)
      signal?.removeEventListener('abort', onAbort)
    }
    const fail = (error: unknown) => {
      if (isOver) return
      end()
      // Also destroy its connection, on which the answer to this request may still come.
      outgoing.destroy()
      reject(mayHaveLeft || signal?.aborted ? error : new RequestNotSentError(host, error))
    }
    const onAbort = () => fail(abortError(signal as AbortSignal))
    const onLate = () => fail(timeoutError(`no answer from ${host} within ${answerTimeoutMs} ms`))

    const deadline = afterReading(answerTimeoutMs, onLate)
    signal?.addEventListener('abort', onAbort)
    outgoing.on('error', fail)
    outgoing.once('socket', (socket) => {
      mayHaveLeft = !sockets.isConnecting(socket)
      if (mayHaveLeft) return
      const late = afterReading(connectTimeoutMs, () => {
        if (!mayHaveLeft) fail(timeoutError(`not connected within ${connectTimeoutMs} ms`))
      })
      outgoing.once('close', () => clearTimeout(late))
      socket.once(sockets.establishedBy, () => {
        mayHaveLeft = true
        clearTimeout(late)
      })
    })
    outgoing.once('response', (incoming) => {
      const chunks: Buffer[] = []
      let bytes = 0
      incoming.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes <= ANSWER_BYTES_MAX) chunks.push(chunk)
        else fail(new Error(`an answer from ${host} of more than ${ANSWER_BYTES_MAX} bytes`))
      })
      incoming.on('error', fail)
      incoming.once('end', () => {
        if (isOver) return
        end()
        resolve(responseOf(request, incoming, chunks))
      })
    })
  })
}

function responseOf(
  { headers: asked }: SdkRequest,
  { statusCode = 0, statusMessage = '', headers }: IncomingMessage,
  chunks: readonly Buffer[],
): SdkResponse {
  const whole = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
  return {
    statusCode,
    reason: statusMessage,
    // Only cookies come as a list.
    headers: headers as Record<string, string>,
    // AWS's JSON protocols name their operation in this header, and read bytes. For the contents of an
    // object the SDK insists on a stream.
    body:
      'x-amz-target' in asked
        ? new Uint8Array(whole.buffer, whole.byteOffset, whole.length)
        : Readable.from(whole, { objectMode: false }),
  }
}
