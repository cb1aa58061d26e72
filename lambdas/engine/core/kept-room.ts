import type { QueueRecord } from './record.ts'

/*
 * In a full queue, items that are due wait for room. A push is blind: it would take whatever room a pop frees, and while
 * producers keep the queue full the items that wait would never get any. So a fenced write that frees room while they
 * wait keeps it for them, as much as all scheduled items would take: pushes count it as taken. Joins use it. Once nothing
 * is due that could join, the next fenced write gives back what is left, and a push or a move that finds no room makes
 * one (`use-kept-room.ts`).
 */

/** What due items may take. */
export const roomForDue = ({ room, keptRoom }: Pick<QueueRecord, 'room' | 'keptRoom'>): number =>
  room + keptRoom

/** `waits`: something is due that could join if there is room. */
export function keepingRoom(before: QueueRecord, after: QueueRecord, waits: boolean): QueueRecord {
  if (!waits) {
    return after.keptRoom === 0 ? after : { ...after, room: roomForDue(after), keptRoom: 0 }
  }
  const freed = before.room <= 0 ? Math.max(0, after.room) : 0
  const kept = Math.min(freed, Math.max(0, after.scheduled.items - after.keptRoom))
  if (kept === 0) return after
  return { ...after, room: after.room - kept, keptRoom: after.keptRoom + kept }
}
