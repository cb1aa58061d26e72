// One request and the whole of its answer.

import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { afterReading } from './answer-timeouts.ts'
import { type SdkRequest, send } from './outgoing.ts'
import { abortError, RequestNotSentError, timeoutError } from './request-errors.ts'
import type { Sockets } from './sockets.ts'

/** What the SDK wants back. */
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

/** Twice the largest object that there is, a segment of 250 items of 256 KiB. */
const ANSWER_BYTES_MAX = 128 * 1024 * 1024

/**
 * Rejects with `RequestNotSentError` where nothing of the request left. After any other error it may
 * have been carried out, or may be yet. The deadline holds to the last byte of the answer, because a
 * body can stall as well as its headers.
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
      // And its connection: what may still come on it is the answer to this request.
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
    // A list is there for cookies alone.
    headers: headers as Record<string, string>,
    // AWS's JSON protocols name their operation in this header, and read bytes. For the contents of an
    // object the SDK insists on a stream.
    body:
      'x-amz-target' in asked
        ? new Uint8Array(whole.buffer, whole.byteOffset, whole.length)
        : Readable.from(whole, { objectMode: false }),
  }
}
