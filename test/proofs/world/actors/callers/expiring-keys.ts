/** In some worlds the time of keys is over between two eras, and then the same keys come with other items. */
export const keysExpire = (seed: number): boolean => seed % 4 === 1

/** No era lasts as long, however often its processes freeze: the keys of one era are over between eras alone. */
export const KEY_SECONDS = 8 * 60 * 60
