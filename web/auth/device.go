package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"github.com/apdesk/apdesk/models"
)

// A browser in which somebody signed in once is known for their account: failed sign-ins from elsewhere do
// not slow it down. A cookie signed with the desk's key says so, for a few accounts of one browser; nothing of it
// is kept at the desk, and a new password ends it.
const (
	deviceCookie = "apdesk_device"
	deviceLife   = 180 * 24 * time.Hour
	deviceUsers  = 4 // remembered in one browser
)

// devices are what this browser is known as.
func (a *Auth) devices(c *fiber.Ctx) []models.KnownDevice {
	id, claims := a.readDevice(c)
	known := make([]models.KnownDevice, len(claims))
	for i, claim := range claims {
		known[i] = models.KnownDevice{ID: id, UserID: claim.user, Epoch: claim.epoch}
	}
	return known
}

// deviceClaim says that a user signed in with a browser.
type deviceClaim struct {
	user, epoch string
	at          time.Time
}

func (a *Auth) readDevice(c *fiber.Ctx) (id string, claims []deviceClaim) {
	id, rest, ok := strings.Cut(utils.CopyString(c.Cookies(a.Cookie(c, deviceCookie))), ".")
	if !ok || len(id) < 16 || len(id) > 64 {
		return "", nil
	}
	for text := range strings.SplitSeq(rest, ".") {
		parts := strings.Split(text, ":")
		if len(parts) != 4 || len(claims) == deviceUsers {
			continue
		}
		claim := deviceClaim{user: parts[0], epoch: parts[1]}
		at, err := strconv.ParseInt(parts[2], 10, 64)
		if err != nil || subtle.ConstantTimeCompare([]byte(parts[3]), []byte(a.signDevice(id, parts[0], parts[1], parts[2]))) != 1 {
			continue
		}
		claim.at = time.Unix(at, 0)
		if age := a.store.Now().Sub(claim.at); age >= 0 && age < deviceLife {
			claims = append(claims, claim)
		}
	}
	return id, claims
}

func (a *Auth) signDevice(id, user, epoch, at string) string {
	mac := hmac.New(sha256.New, a.key)
	mac.Write([]byte("apdesk device\x00" + id + "\x00" + user + "\x00" + epoch + "\x00" + at))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Remember makes this browser known for a person who has just shown who they are here.
func (a *Auth) Remember(c *fiber.Ctx, user models.User) {
	id, claims := a.readDevice(c)
	if id == "" {
		id = models.Secret(rand.Reader, 20)
	}
	now := a.store.Now().Time
	keep := []deviceClaim{{user: user.ID, epoch: models.DeviceEpoch(user), at: now}}
	for _, claim := range claims {
		if claim.user != user.ID && len(keep) < deviceUsers {
			keep = append(keep, claim)
		}
	}
	value := id
	for _, claim := range keep {
		at := strconv.FormatInt(claim.at.Unix(), 10)
		value += "." + strings.Join([]string{claim.user, claim.epoch, at, a.signDevice(id, claim.user, claim.epoch, at)}, ":")
	}
	a.setCookie(c, deviceCookie, value, deviceLife)
}
