package auth

import "strings"

// Device names the browser and the system a user agent speaks of, each empty when it is none of the common
// ones. Browsers say what they like, so this is for people to recognise their own by.
func Device(userAgent string) (browser, system string) {
	// Many name the browsers they are like, so the ones that are named by fewer come first.
	for _, b := range [][2]string{{"Edg", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}} {
		if strings.Contains(userAgent, b[0]) {
			browser = b[1]
			break
		}
	}
	for _, s := range [][2]string{{"Windows", "Windows"}, {"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"CrOS", "ChromeOS"}, {"Mac OS X", "macOS"}, {"Linux", "Linux"}} {
		if strings.Contains(userAgent, s[0]) {
			system = s[1]
			break
		}
	}
	return browser, system
}
