import type { GetObjectCommandInput, GetObjectCommandOutput } from '@aws-sdk/client-s3'
import type { SimulatedRequest } from '../../../testing/simulated/simulated-store.ts'

/** `Range: bytes=a-b` of a GetObject, which the simulated store answers with the whole object. */
export function rangedGet(request: SimulatedRequest, output: unknown): unknown {
  const { Range } = request.input as GetObjectCommandInput
  const match = Range === undefined ? null : /^bytes=(\d+)-(\d+)$/.exec(Range)
  const { Body, ContentLength = 0 } = output as GetObjectCommandOutput
  if (match === null || Body === undefined) return output
  const [from, to] = [Number(match[1]), Number(match[2]) + 1]
  if (ContentLength <= to - from) return output
  const transformToByteArray = async (): Promise<Uint8Array> =>
    (await Body.transformToByteArray()).subarray(from, to)
  return { ...(output as object), Body: { transformToByteArray } }
}
